/** What `rewards` names: modules, descriptions, directories of reward models, rules, and lists of these. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { loadRewards, namedRewardModels, rewardFiles } from '../../src/reward/index.js'
import { temporaryDirectory } from '../support/files.js'
import { modelDirectory, rewardModelDirectory } from '../support/tiny-model.js'

const folder = temporaryDirectory()
const put = (name: string, text: string): string => {
  const path = join(folder, name)
  writeFileSync(path, text)
  return path
}

const half = put('half.mjs', 'export default () => 0.5\n')
const long = put('long.mjs', 'export default ({ response }) => response.length\n')
const sample = {
  prompt: 'What is 2 + 2?',
  response: '#### 4',
  responseRaw: '#### 4',
  target: '4',
  row: {},
  truncated: false,
} as never

async function rewardOf(names: string | readonly string[]): Promise<unknown> {
  const engine = await loadRewards(names)
  try {
    const { outcomes } = await engine.compute([sample])
    const [outcome] = outcomes
    return outcome!.kind === 'scored' ? { reward: outcome!.reward, components: outcome!.components } : outcome
  } finally {
    await engine.close()
  }
}

describe('one name', () => {
  test('a rule', async () => {
    expect(await rewardOf('numeric-answer')).toMatchObject({ reward: 1 })
    expect(await rewardOf('exact-match')).toMatchObject({ reward: 0 })
  })

  test('a module, and a file that lists sources', async () => {
    expect(await rewardOf(half)).toMatchObject({ reward: 0.5 })
    const file = put('one.yaml', 'sources: { answer: { type: rule, rule: numeric-answer } }\n')
    expect(await rewardOf(file)).toMatchObject({ reward: 1 })
  })

  test('the directory of a reward model', async () => {
    const model = await modelDirectory(1)
    const reward = await rewardModelDirectory(model)
    expect(await rewardOf(reward)).toMatchObject({ reward: expect.any(Number) })
    await expect(rewardOf(model)).rejects.toThrow('is a language model; expected a reward model (with a score head)')
    expect(await namedRewardModels([reward, 'format'])).toMatchObject([{ path: reward }])
    expect(await rewardFiles([half, reward, 'format'])).toEqual({ files: [half], models: [reward] })
  })
})

describe('a list', () => {
  test('adds the rewards, each with its name', async () => {
    expect(await rewardOf(['numeric-answer', half, long])).toEqual({
      reward: 1 + 0.5 + 6,
      components: { 'numeric-answer': 1, half: 0.5, long: 6 },
    })
  })

  test('names that are equal are told apart', async () => {
    expect(await rewardOf([half, half])).toMatchObject({ reward: 1, components: { half: 0.5, 'half-2': 0.5 } })
  })

  test('a file that lists sources keeps its weights', async () => {
    const file = put(
      'two.yaml',
      'sources: { a: { type: function, file: half.mjs }, b: { type: function, file: long.mjs } }\nweights: { a: 2, b: 1 }\n',
    )
    expect(await rewardOf([file, 'numeric-answer'])).toMatchObject({ reward: 2 * 0.5 + 6 + 1 })
    expect((await rewardFiles([file, half])).files).toEqual([file, half, long])
  })

  test('of what cannot be added is refused', async () => {
    const unweighted = put(
      'unweighted.yaml',
      'sources: { a: { type: rule, rule: format }, b: { type: rule, rule: format } }\n',
    )
    await expect(rewardOf([unweighted, half])).rejects.toThrow('unweighted.yaml: its 2 sources need weights')
    const options = put('options.yaml', 'sources: { a: { type: rule, rule: format } }\nonRewardFailure: stop\n')
    await expect(rewardOf([options, half])).rejects.toThrow('onRewardFailure: only for a file that is the only reward')
  })
})

test.each([
  ['exact-mach', 'exact-mach: there is no such file; did you mean exact-match?'],
  [join(folder, 'gsm8k'), 'gsm8k: there is no such file; did you mean numeric-answer?'],
  [
    join(folder, 'gone.ts'),
    'gone.ts: there is no such file; expected a module that exports a reward (.ts, .js, .mjs), a file that lists reward sources (.yaml, .json), a reward model (a directory or an id of the Hub), or a rule (exact-match, numeric-answer, format)',
  ],
  [put('notes.txt', ''), 'notes.txt: expected a module that exports a reward'],
  [[], 'no reward: expected a module'],
])('%s: what it could have been', async (names, message) => {
  await expect(rewardOf(names)).rejects.toThrow(message)
})
