/** `whetstone episode` and `whetstone eval` with environments. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { defineEnvironment } from '../../src/environment/index.js'
import { evaluate } from '../../src/index.js'
import { cli } from '../support/cli.js'
import { temporaryDirectory } from '../support/files.js'
import { modelDirectory } from '../support/rl.js'

const environmentFile = `export default {
  name: 'two turns',
  version: '1',
  open: async ({ messages }) => ({
    start: async () => messages,
    step: async ({ turn, text }) =>
      turn === 1
        ? { kind: 'done', reward: 1 }
        : { kind: 'go-on', messages: [{ role: 'user', content: 'More \\u001b[31m<|im_end|>.' }], reward: 0.5 },
  }),
}
`

async function world() {
  const directory = temporaryDirectory()
  const file = (name: string, text: string): string => {
    writeFileSync(join(directory, name), text)
    return join(directory, name)
  }
  const model = await modelDirectory(1, { context: 256 })
  file('env.mjs', environmentFile)
  const data = file('data.jsonl', [0, 1, 2].map(i => JSON.stringify({ prompt: `Question ${i}:` })).join('\n'))
  const config = file(
    'rl.yaml',
    `model: ${model}\ndata: data.jsonl\nenvironment: env.mjs\nepisode: { turnTokens: 4 }\nmaxNewTokens: 12\ndevice: cpu\nshuffle: false\n`,
  )
  return { directory, model, data, config, file }
}

test('episode shows conversations with tokens marked, and eval measures them', async () => {
  const { config, data, model, file } = await world()
  const shown = await cli(['episode', '--config', config, '--prompts', '2'])
  expect(shown.stderr).toBe('')
  expect(shown.code).toBe(0)
  const heads = shown.stdout.split('\n').filter(line => /sample 0: /.test(line))
  expect(heads).toHaveLength(2)
  expect(heads[0]).toMatch(/: finished \(done\), reward 1\.5, 2 turns, 0 calls$/)
  expect(shown.stdout).toContain('  sampled, trained: 4 tokens\n  > ')
  expect(shown.stdout).toMatch(/\n {2}observation, not trained: \d+ tokens\n {2}\| /)
  // No control code of an environment reaches a terminal.
  expect(shown.stdout).toContain('More ?[31m<|im_end|>.')
  const json = await cli(['episode', '--config', config, '--prompts', '1', '--samples', '2', '--json'])
  const [first, second] = json.stdout
    .trim()
    .split('\n')
    .map(line => JSON.parse(line))
  expect(first).toMatchObject({ outcome: 'finished', stop: 'done', reward: 1.5, messages: { length: 4 } })
  const { ids, trained } = first.sequences[0]
  expect(trained.filter((one: number) => one === 1)).toHaveLength(first.turns[0].tokens + first.turns[1].tokens)
  expect(ids).toHaveLength(trained.length)
  expect(second.sample + first.sample).toBe(1)
  const each = await cli(['episode', '--config', config, '--prompts', '1', '--tokens'])
  expect(each.stdout).toContain('[<|im_end|>]')

  const args = ['eval', '--model', model, '--data', data, '--config', config, '--device', 'cpu']
  const measured = await cli([...args, '--out', file('metrics.json', '')])
  expect(measured.code).toBe(0)
  expect(measured.stdout).toMatch(/reward +1\.5/)
  expect(measured.stdout).toMatch(/turns of an episode +2/)
})

test('evaluate takes an environment of the program, and its reward is added to others', async () => {
  const { model } = await world()
  const environment = defineEnvironment({
    name: 'one',
    version: '1',
    open: async ({ messages }) => ({
      start: async () => messages,
      step: async () => ({ kind: 'done' }),
      score: async () => 2,
    }),
  })
  const data = [{ prompt: 'Question:', target: '1' }]
  const options = { model, data, environment, maxNewTokens: 8, device: 'cpu' } as const
  const { evaluation, answers } = await evaluate(options)
  expect(evaluation.model.rewards?.reward?.mean).toBe(2)
  expect(evaluation.model.answers).toMatchObject({ answered: 1, meanTurns: 1, meanCalls: 0 })
  expect(answers.model[0]!.messages).toHaveLength(2)
  const both = await evaluate({ ...options, reward: { rewardFn: undefined as never, sources: [seven] } })
  expect(both.evaluation.model.rewards?.reward?.mean).toBe(9)
  await expect(evaluate({ ...options, tools: ['calculator'] })).rejects.toThrow(/tools: the environment has its own/)
})

const seven = {
  name: 'seven',
  kind: 'rule',
  limits: { batchSize: 1, concurrency: 1, deadlineMs: 1e6, retries: 0 },
  score: async () => [7],
} as const

test.each([
  [['--tools', 'calculater'], /tools: there is no tool "calculater"; did you mean calculator/],
  [['--environment', 'nothing.mjs'], /environment: .*nothing\.mjs/],
  [['--chat-template', 'none'], /chatTemplate: episodes are conversations/],
])('errors come before work starts: %j', async (more, message) => {
  const { config, file, model } = await world()
  const plain = file('plain.yaml', `model: ${model}\ndata: data.jsonl\nmaxNewTokens: 12\n`)
  const name = more[0] === '--tools' ? plain : config
  const failed = await cli(['episode', '--config', name, ...more])
  expect(failed.code).not.toBe(0)
  expect(failed.stderr).toMatch(message)
  expect(failed.stdout).toBe('')
})
