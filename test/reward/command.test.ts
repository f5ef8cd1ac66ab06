import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, describe, expect, it } from 'vitest'
import { main } from '../../src/cli/main.js'
import { capturedOutput } from '../support/cli.js'
import { temporaryDirectory } from '../support/files.js'

let folder = ''
beforeEach(() => {
  folder = temporaryDirectory()
})
const printed = capturedOutput()

function file(name: string, content: string): string {
  const path = join(folder, name)
  writeFileSync(path, content)
  return path
}
const rows = (list: readonly unknown[]) => file('samples.jsonl', list.map(row => `${JSON.stringify(row)}\n`).join(''))

describe('whetstone reward test', () => {
  it('shows how rewards lie, the worst rows and the failures, and writes all of it', async () => {
    const reward = file(
      'reward.yaml',
      `sources:
  right: { type: rule, rule: numeric-answer }
  short: { type: rule, rule: length, unit: words, max: 2, falloff: 8 }
weights: { right: 1, short: 0.5 }
`,
    )
    const input = rows([
      { prompt: '2+2?', response: '#### 4', reference: '4' },
      { prompt: '2+2?', response: 'I believe it is #### 4', reference: 4 },
      { prompt: [{ role: 'user', content: '2+2?' }], response: 'no\u001b[31m idea', reference: '4' },
      { prompt: '2+2?', response: '#### 4' },
    ])
    const output = join(folder, 'rewards.jsonl')
    const code = await main([
      'reward',
      'test',
      '--reward',
      reward,
      '--input',
      input,
      '--output',
      output,
      '--worst',
      '2',
    ])
    expect(printed.stderr).not.toMatch(/^whetstone/m)
    expect(code).toBe(1)
    expect(
      printed.stdout
        .replaceAll(input, 'F')
        .replace(/ms each/g, 'ms')
        .replace(/[\d.]+ ms/g, 'N ms'),
    ).toBe(
      `4 samples: 3 scored, 1 failed

rewards  mean 1.083  min 0.5  p10 0.5  p50 1.25  p90 1.5  max 1.5
   0.5  ########################################  1
  1.25  ########################################  1
   1.5  ########################################  1

mean of each source
  right  0.6667 ± 0.5774  (0 .. 1, 3 samples)  1 calls, N ms
  short  0.8333 ± 0.2887  (0.5 .. 1, 3 samples)  1 calls, N ms

metrics
  short/length  3.333 ± 2.309  (2 .. 6, 3 samples)

worst rows
  F:3: 0.5 (right 0, short 1)
    no?[31m idea
  F:2: 1.25 (right 1, short 0.5)
    I believe it is #### 4

failures  input 1
  F:4: right: input: the rule right needs a target, and the sample has none
`,
    )
    const lines = readFileSync(output, 'utf8')
      .trimEnd()
      .split('\n')
      .map(line => JSON.parse(line))
    expect(lines).toEqual([
      { reward: 1.5, components: { right: 1, short: 1 }, metrics: { 'short/length': 2 } },
      { reward: 1.25, components: { right: 1, short: 0.5 }, metrics: { 'short/length': 6 } },
      { reward: 0.5, components: { right: 0, short: 1 }, metrics: { 'short/length': 2 } },
      { error: { reason: 'input', source: 'right', message: expect.any(String) } },
    ])
  })

  it('draws bars for many values, and ends with 0 where every sample has a reward', async () => {
    const reward = file('reward.ts', 'export default ({ row }: { row: { n: number } }) => row.n')
    const input = rows(Array.from({ length: 100 }, (_, n) => ({ question: 'x', response: 'y', n })))
    expect(await main(['reward', 'test', '--reward', reward, '--input', input, '--prompt', 'question'])).toBe(0)
    expect(printed.stdout).toContain('rewards  mean 49.5  min 0  p10 10  p50 50  p90 90  max 99')
    expect(printed.stdout).toMatch(/ {5}0 \.\. 9\.9 {2}#+ {2}10\n/)
    expect(printed.stdout).not.toContain('failures')
  })

  it('a reward that throws for all shows some of the failures and counts the rest', async () => {
    const reward = file('reward.js', "export default () => { throw new Error('broken') }")
    const input = rows(new Array(12).fill({ prompt: 'x', response: 'y' }))
    expect(await main(['reward', 'test', '--reward', reward, '--input', input])).toBe(1)
    expect(printed.stdout).toContain('12 samples: 0 scored, 12 failed\n\nfailures  threw 12\n')
    expect(printed.stdout).toContain('reward: threw: Error: broken (reward.js:1)\n')
    expect(printed.stdout).toContain('\n  and 2 more\n')
  })

  it.each<[string, string[], number, RegExp]>([
    ['no action', ['reward'], 2, /expected an action: train or test/],
    ['another action', ['reward', 'tset'], 2, /unknown action "tset"; there are: train, test; did you mean test\?/],
    ['no reward', ['reward', 'test', '--input', 'x.jsonl'], 2, /--reward: expected a file/],
    ['no input', ['reward', 'test', '--reward', 'x.ts'], 2, /--input: expected a file/],
    ['a misspelt option', ['reward', 'test', '--rewards', 'x.ts'], 2, /no option --rewards; did you mean --reward\?/],
    [
      'a number that is none',
      ['reward', 'test', '--reward', 'x.ts', '--input', 'x.jsonl', '--worst', 'all'],
      2,
      /--worst/,
    ],
    ['a file that is not there', ['reward', 'test', '--reward', 'x.ts', '--input', 'none.jsonl'], 1, /no such file/],
  ])('%s', async (_, args, code, message) => {
    expect(await main(args)).toBe(code)
    expect(printed.stderr).toMatch(message)
  })

  it('bad rows, and labels without a recipe, are said before any reward is asked', async () => {
    const reward = file('reward.yaml', 'rewardRecipe: { maths: [[rule, format, 1]] }')
    const output = join(folder, 'o.jsonl')
    const bad = rows([{ prompt: 'x' }, { prompt: 'x', response: 'y', prompt_ids: [-1] }])
    expect(await main(['reward', 'test', '--reward', reward, '--input', bad, '--output', output])).toBe(1)
    expect(printed.stderr.replaceAll(bad, 'F')).toMatch(
      /F: 2 bad rows\n {2}F:1: response: missing.*\n {2}F:2: prompt_ids\.0/,
    )
    printed.clear()
    const labelled = rows([{ prompt: 'x', response: 'y', label: 'math' }])
    expect(await main(['reward', 'test', '--reward', reward, '--input', labelled, '--output', output])).toBe(1)
    expect(printed.stderr).toMatch(/no reward recipe for the label "math"; did you mean maths\?/)
    expect(printed.stderr).not.toMatch(/ at /)
    expect(existsSync(output)).toBe(false)
  })
})
