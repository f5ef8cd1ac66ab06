/** One scripted episode from the first message to the sequence that training reads. */
import { expect, test } from 'vitest'
import { z } from 'zod'
import { defineTool, type Environment, episodeSequences } from '../../src/environment/index.js'
import { origins, trainedCount } from '../../src/sequence/index.js'
import { familyTokenizer, scriptedEpisode } from '../support/episodes.js'

const add = defineTool({
  name: 'add',
  description: 'Adds two numbers.',
  input: z.object({ a: z.number(), b: z.number() }),
  effect: 'pure',
  run: ({ a, b }) => String(a + b),
})

const sums: Environment = {
  name: 'sums',
  version: '1',
  tools: [add],
  adds: ['tool'],
  open: async () => ({
    start: async () => [{ role: 'user', content: 'What is 2 + 3?' }],
    step: async ({ calls }) => (calls.length > 0 ? { kind: 'go-on' } : { kind: 'done', reward: 1 }),
  }),
}

test('sampled tokens are trained, all others are not, and each prompt begins with the one before', async () => {
  const tokenizer = await familyTokenizer('qwen2_5')
  const call = '<tool_call>\n{"name": "add", "arguments": {"a": 2, "b": 3}}\n</tool_call>'
  const { outcome, prompts, released } = await scriptedEpisode({
    environment: sums,
    turns: [call, 'It is 5.'],
    tokenizer,
  })
  expect(outcome.kind).toBe('finished')
  if (outcome.kind !== 'finished') return
  const { episode } = outcome
  expect(episode).toMatchObject({ stop: 'done', reward: 1 })
  expect(episode.turns.map(({ text, calls }) => ({ text, calls: calls.length }))).toEqual([
    { text: '', calls: 1 },
    { text: 'It is 5.', calls: 0 },
  ])
  const [sequence, ...others] = episodeSequences(episode, { promptId: 'row', row: {} })
  expect(others).toEqual([])
  const { ids, origin, trained } = sequence!
  const pieces: { text: string; origin: number; trained: number }[] = []
  for (let from = 0, to = 1; to <= ids.length; to++) {
    if (to < ids.length && origin[to] === origin[from] && trained[to] === trained[from]) continue
    pieces.push({
      text: await tokenizer.decode(ids.subarray(from, to)),
      origin: origin[from]!,
      trained: trained[from]!,
    })
    from = to
  }
  expect(pieces).toEqual([
    {
      text: expect.stringMatching(/What is 2 \+ 3\?<\|im_end\|>\n<\|im_start\|>assistant\n$/),
      origin: origins.prompt,
      trained: 0,
    },
    { text: `${call}<|im_end|>`, origin: origins.sampled, trained: 1 },
    {
      text: '\n<|im_start|>user\n<tool_response>\n5\n</tool_response><|im_end|>\n<|im_start|>assistant\n',
      origin: origins.observation,
      trained: 0,
    },
    { text: 'It is 5.<|im_end|>', origin: origins.sampled, trained: 1 },
  ])
  expect(trainedCount(sequence!)).toBe(episode.turns.reduce((sum, turn) => sum + turn.completion.responseIds.length, 0))
  // What the engine read is a beginning of what training reads.
  for (const prompt of prompts) expect(ids.subarray(0, prompt.length)).toEqual(prompt)
  expect(released).toEqual(['test/row/0/0'])
})
