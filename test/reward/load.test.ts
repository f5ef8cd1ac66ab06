import { basename } from 'node:path'
import { describe, expect, it } from 'vitest'
import { LocalModel } from '../../src/model/index.js'
import { loadRewards } from '../../src/reward/index.js'
import { fresh, written } from '../support/files.js'
import { json, rewardServer } from '../support/reward-http.js'
import { rewardsOf, sample } from '../support/reward-samples.js'
import { widerDirectory } from '../support/tiny-model.js'
import { tokenizer } from '../support/tokenizers.js'

describe('modules', () => {
  const inputs = [
    sample('four', { label: 'x', row: { answer: 'four' } }),
    sample('5', { label: 'x', row: { answer: '4' } }),
  ]
  it.each<[string, string, string, unknown[]]>([
    ['a function', 'a.ts', 'export default ({ response }: { response: string }): number => response.length', [4, 1]],
    [
      'defineReward',
      'a.ts',
      `import { defineReward } from 'whetstone/reward'
       import { z } from 'zod'
       export default defineReward(z.object({ answer: z.string() }), ({ row, response }) => (row.answer === response ? 1 : 0))`,
      [1, 0],
    ],
    [
      'an error that says why',
      'a.ts',
      `import { SourceError } from 'whetstone/reward'
       export default () => { throw new SourceError('input', 'no') }`,
      ['input', 'input'],
    ],
  ])('with %s', async (_, name, source, wanted) => {
    expect(await rewardsOf(written(name, source), inputs)).toEqual(wanted)
  })

  it.each<[string, string, string, RegExp]>([
    ['nothing', 'a.ts', 'export const x = 1', /it exports no reward: expected a default export/],
    ['an exception', 'a.ts', 'throw new Error("at load")', /at load/],
    [
      'another ending',
      'a.py',
      'def reward(): pass',
      /expected a module that exports a reward \(\.ts, \.js, \.mjs\), a file that lists reward sources/,
    ],
  ])('with %s are refused', async (_, name, source, message) => {
    await expect(loadRewards(written(name, source))).rejects.toThrow(message)
  })

  it('that are not there are refused', async () => {
    await expect(loadRewards(fresh('none.ts'))).rejects.toThrow(/there is no such file/)
  })
})

describe('descriptions', () => {
  it('make rules, functions and remote rewards, and combine them by recipe', async () => {
    const server = await rewardServer((response, { body }) =>
      json(response, { rewards: (body.query as string[]).map(() => 0.25) }),
    )
    process.env.WHETSTONE_TEST_KEY = 'a-key-for-tests'
    const ten = written('fn.ts', 'export default () => 10')
    const path = written(
      'r.yaml',
      `sources:
  accuracy: { type: rule, rule: numeric-answer, answer: [last-number] }
  tags: { type: rule, rule: format, tags: [think], ending: boxed }
  short: { type: rule, rule: length, unit: words, max: 3 }
  digits: { type: rule, rule: pattern, pattern: '\\d' }
  object: { type: rule, rule: json-schema, schema: { type: object } }
  polite: { type: rule, rule: word-list, words: [damn], penalty: -2 }
  same: { type: rule, rule: exact-match, letterCase: insensitive }
  ten: { type: function, file: ./${basename(ten)} }
  server: { type: remote, url: '${server.url}', dialect: openrlhf, apiKeyEnv: WHETSTONE_TEST_KEY, concurrency: 2 }
rewardRecipe:
  maths: [[rule, accuracy, 0.9], [rule, tags, 0.1], [rule, short, 1], [rule, digits, 1], [rule, object, 1]]
  chat: [[rule, polite, 1], [function, ten, 1], [remote, server, 2], [rule, same, 100], [rule, format, 1000]]
onRewardFailure: drop
`,
    )
    const maths = sample('<think>x</think> \\boxed{4} 4', { label: 'maths', target: '4' })
    const chat = sample('DAMN', { label: 'chat', target: 'damn' })
    expect(await rewardsOf(path, [maths, chat])).toEqual([3, 108.5])
    expect(server.asked[0]!.headers.authorization).toBe('Bearer a-key-for-tests')
    delete process.env.WHETSTONE_TEST_KEY
  })

  it('load reward models, and no others', async () => {
    const directory = await widerDirectory()
    const trained = fresh('rm')
    const model = await LocalModel.load(directory, { role: 'reward', seed: 3 })
    await model.export(trained, { what: 'model' })
    const messages = [{ role: 'user', content: 'Hi' }]
    const ids = await tokenizer.encodeChat([...messages, { role: 'assistant', content: 'Ho' }])
    const [wanted] = await model.score([ids])
    model.dispose()
    const spec = (path: string) =>
      written('m.yaml', `sources: { rm: { type: model, path: '${path}', batchTokens: 64 } }`)
    expect(await rewardsOf(spec(basename(trained)), [sample('Ho', { messages })])).toEqual([wanted!.score])
    await expect(loadRewards(spec(directory))).rejects.toThrow(
      /is a language model; expected a reward model \(with a score head\)/,
    )
  })

  it('are JSON too', async () => {
    const spec = { sources: { a: { type: 'rule', rule: 'length', unit: 'characters', max: 1 } } }
    expect(await rewardsOf(written('r.json', JSON.stringify(spec)), [sample('x'), sample('xy')])).toEqual([1, 0])
  })

  it.each<[string, string, RegExp]>([
    ['a misspelt key', 'sorces: {}', /there is no option "sorces"; did you mean sources\?/],
    ['a snake_case key', 'reward_recipe: {}', /there is no option "reward_recipe"; did you mean rewardRecipe\?/],
    [
      'a misspelt option',
      'sources: { a: { type: rule, rule: length, maxx: 1 } }',
      /there is no option "sources\.a\.maxx"; did you mean max\?/,
    ],
    ['an unknown type', 'sources: { a: { type: rulle } }', /sources\.a\.type/],
    ['an unknown rule', 'sources: { a: { type: rule, rule: exact } }', /sources\.a\.rule/],
    [
      'a rule without its option',
      'sources: { a: { type: rule, rule: pattern } }',
      /sources\.a\.pattern: missing; expected string/,
    ],
    [
      'a rule whose options cannot work',
      'sources: { a: { type: rule, rule: length } }',
      /rule a: expected min, max or both/,
    ],
    ['an unknown dialect', 'sources: { a: { type: remote, url: "http://x", dialect: nope } }', /sources\.a\.dialect/],
    [
      'a key that is not set',
      'sources: { a: { type: remote, url: "http://x", apiKeyEnv: WHETSTONE_NO_KEY } }',
      /WHETSTONE_NO_KEY \(apiKeyEnv\) is not set/,
    ],
    [
      'a device that is none',
      'sources: { a: { type: model, path: x, device: gpu } }',
      /sources\.a\.device: expected auto, cpu, cuda or cuda:N/,
    ],
    [
      'no way to combine',
      'sources: { a: { type: rule, rule: format }, b: { type: rule, rule: exact-match } }',
      /2 reward sources \(a, b\) need weights/,
    ],
    ['what is no YAML', 'sources: [', /Flow/],
    ['a text', 'hello', /expected object/],
  ])('with %s are refused', async (_, content, message) => {
    await expect(loadRewards(written('r.yaml', content))).rejects.toThrow(message)
  })
})
