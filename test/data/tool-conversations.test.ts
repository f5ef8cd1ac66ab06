/** SFT on conversations with tools: the same tokens are trained as in the episode of the same conversation. */
import { expect, test } from 'vitest'
import { calculator, episodeSequences, toolEnvironment, toolSchema } from '../../src/environment/index.js'
import { dataFolder, epochOf } from '../support/data.js'
import { familyTokenizer, scriptedEpisode } from '../support/episodes.js'

const { jsonl, open } = dataFolder()
const hermes = (expression: string): string =>
  `<tool_call>\n${JSON.stringify({ name: 'calculator', arguments: { expression } }).replace(/":/g, '": ').replace(/,"/g, ', "')}\n</tool_call>`
const calls = {
  qwen2_5: hermes,
  chatml: hermes,
  llama3_1: (expression: string) =>
    `{"name": "calculator", "parameters": {"expression": ${JSON.stringify(expression)}}}`,
}

test.each(['qwen2_5', 'chatml', 'llama3_1'] as const)(
  'trained tokens are those of the episode (%s)',
  async template => {
    const tokenizer = await familyTokenizer(template)
    const { outcome } = await scriptedEpisode({
      tokenizer,
      messages: [{ role: 'user', content: 'What is 2 + 2, times 4?' }],
      environment: toolEnvironment({ tools: [calculator] }),
      turns: [calls[template]('2 + 2'), calls[template]('4 * 4'), 'It is 16.'],
    })
    if (!('episode' in outcome)) throw new Error(JSON.stringify(outcome))
    const { turns } = outcome.episode
    const [sequence] = episodeSequences(outcome.episode, { promptId: 'row', row: {} })
    // As a data set has it: arguments are JSON text, and results have no names.
    const messages = turns
      .flatMap(({ messages: added, message }) => [...added, message])
      .map(message => {
        const { name: _, tool_calls: made, ...rest } = message
        if (!made) return rest
        const asText = (made as { function: { arguments: unknown } }[]).map(one => ({
          ...one,
          function: { ...one.function, arguments: JSON.stringify(one.function.arguments) },
        }))
        return { ...rest, content: null, tool_calls: asText }
      })
    const path = jsonl(`${template}.jsonl`, [{ messages, tools: [toolSchema(calculator)] }])
    const [example] = await epochOf((await open('conversations', path, { shuffle: false })).train(tokenizer))
    const { ids, trained } = example!.sequence
    const { length } = sequence!.ids
    expect(await tokenizer.decode(ids.subarray(0, length))).toBe(await tokenizer.decode(sequence!.ids))
    expect([...ids.subarray(0, length)]).toEqual([...sequence!.ids])
    expect([...trained.subarray(0, length)]).toEqual([...sequence!.trained])
    expect([...trained.subarray(length)]).not.toContain(1)
  },
)
