import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, describe, expect, it, vi } from 'vitest'
import { main } from '../../src/cli/main.js'
import { capturedOutput } from '../support/cli.js'
import { expectClose } from '../support/close.js'
import { temporaryDirectory } from '../support/files.js'
import { golden } from '../support/golden-maths.js'

let folder = ''
beforeEach(() => {
  folder = temporaryDirectory()
})
const printed = capturedOutput()

/** Runs the verb over lines, given as objects or as text. */
async function advantages(rows: readonly unknown[] | string, args: readonly string[]) {
  const input = join(folder, 'samples.jsonl')
  const output = join(folder, 'advantages.jsonl')
  writeFileSync(input, typeof rows === 'string' ? rows : rows.map(row => `${JSON.stringify(row)}\n`).join(''))
  const code = await main(['advantages', '--input', input, '--output', output, ...args])
  const lines: { advantages: number[]; returns: number[] }[] = existsSync(output)
    ? readFileSync(output, 'utf8')
        .trimEnd()
        .split('\n')
        .map(line => JSON.parse(line))
    : []
  return { code, lines, written: existsSync(output) }
}

const flags = (options: object): string[] =>
  Object.entries(options).flatMap(([name, value]) => [
    `--${name.replace(/[A-Z]/g, letter => `-${letter.toLowerCase()}`)}`,
    String(value),
  ])

const pair = [
  { prompt_id: 'a', reward: 1, logprobs: [-1, -2] },
  { prompt_id: 'a', reward: 0, logprobs: [-1, -2, -3] },
]

describe('recorded numbers, by the command', () => {
  const cases = golden.estimators.map((entry, i) => ({ ...entry, name: `${entry.estimator} ${i % 3}` }))
  it.each(cases)('$name', async ({ estimator, options, rewards, logprobs, refLogprobs, values, ...recorded }) => {
    const rows = rewards.map((reward, i) => ({
      prompt_id: Math.floor(i / options.nSamplesPerPrompt),
      reward,
      logprobs: logprobs[i],
      ref_logprobs: refLogprobs[i],
      values: values[i],
    }))
    const { code, lines } = await advantages(rows, ['--estimator', String(estimator), ...flags(options)])
    expect(printed.stderr).not.toContain('whetstone:')
    expect(code).toBe(0)
    expect(lines).toHaveLength(rows.length)
    for (const [i, line] of lines.entries()) {
      expectClose(line.advantages, recorded.advantages[i]!, undefined, `advantages[${i}]`)
      expectClose(line.returns, recorded.returns[i]!, undefined, `returns[${i}]`)
    }
    expect(printed.stderr.includes('always uses --gamma 1')).toBe(
      estimator === 'reinforce_baseline' && options.gamma !== 1,
    )
  })
})

describe('what the command does', () => {
  it('keeps the order of lines, also where prompts are mixed, in both spellings of prompt_id', async () => {
    const rows = [
      { prompt_id: 'b', reward: 3, logprobs: [-1] },
      { promptId: 7, reward: 0, logprobs: [-1, -1] },
      { prompt_id: 'b', reward: 1, logprobs: [-1, -1, -1] },
      { prompt_id: 7, reward: 4, logprobs: [-1] },
    ]
    const { code, lines } = await advantages(rows, ['--estimator', 'dr_grpo'])
    expect(code).toBe(0)
    expect(lines.map(line => line.advantages)).toEqual([[1], [-2, -2], [-1, -1, -1], [2]])
    expect(printed.stderr).toContain('4 samples, 7 tokens; 2 groups, 0 of equal rewards; reward 2 (0 to 4)')
  })

  it('reads fields that are null as left printed.stdout, and ignores those it does not know', async () => {
    const rows = pair.map(row => ({ ...row, ref_logprobs: null, values: null, prompt: 'x', ids: [1] }))
    expect((await advantages(rows, ['--estimator', 'rloo'])).lines[0]).toEqual({ advantages: [1, 1], returns: [1, 1] })
  })

  it('takes a cost of KL of 0.01 where there is a reference and nothing is said, and none with --use-kl-loss', async () => {
    const rows = pair.map(row => ({ ...row, ref_logprobs: row.logprobs.map(value => value - 1) }))
    const costs = async (args: string[]) =>
      (await advantages(rows, ['--estimator', 'reinforce', ...args])).lines[0]!.returns
    expectClose(await costs([]), [0.98, 0.99])
    expectClose(await costs(['--kl-coef', '0']), [1, 1])
    expectClose(await costs(['--use-kl-loss']), [1, 1])
  })

  it('writes many lines whole', async () => {
    const rows = Array.from({ length: 2000 }, (_, i) => ({ reward: i, logprobs: new Array(50).fill(-1) }))
    const { lines } = await advantages(rows, ['--estimator', 'reinforce', '--advantage-clip', '1000.5'])
    expect(lines.map(line => line.returns[49])).toEqual(rows.map(({ reward }) => reward))
    expect(printed.stderr).toContain('49.95 % of advantages clipped')
  })

  it('replaces the output at once, but not its own input, and leaves nothing else behind', async () => {
    const [input, output] = [join(folder, 'samples.jsonl'), join(folder, 'advantages.jsonl')]
    const lines = pair.map(row => `${JSON.stringify(row)}\n`).join('')
    writeFileSync(input, lines)
    writeFileSync(output, 'what was there before')
    const args = ['advantages', '--input', input, '--estimator', 'rloo', '--output']
    expect(await main([...args, output])).toBe(0)
    expect(readFileSync(output, 'utf8')).toBe(
      '{"advantages":[1,1],"returns":[1,1]}\n{"advantages":[-1,-1,-1],"returns":[-1,-1,-1]}\n',
    )
    expect(await main([...args, input])).toBe(1)
    expect(printed.stderr).toContain('samples.jsonl is also the input')
    expect(readFileSync(input, 'utf8')).toBe(lines)
    expect(readdirSync(folder).sort()).toEqual(['advantages.jsonl', 'samples.jsonl'])
  })
})

describe('bad lines are named before anything is written', () => {
  const cases: [string, readonly unknown[] | string, string[], string][] = [
    [
      'a reward of another type',
      [{ ...pair[0], reward: '1' }],
      ['rloo'],
      'line 1: reward: expected number, got string',
    ],
    ['no reward', [...pair, { prompt_id: 'a', logprobs: [1] }], ['rloo'], 'line 3: reward: missing; expected number'],
    ['an empty line', `${JSON.stringify(pair[0])}\n\n`, ['rloo'], 'line 2: empty'],
    ['text', 'reward 1\n', ['rloo'], 'line 1: not JSON'],
    ['not an object', '[1]\n', ['rloo'], 'line 1: expected an object such as'],
    ['no tokens', [{ reward: 1, logprobs: [] }], ['reinforce'], 'line 1: logprobs: expected at least one number'],
    [
      'a token that is null',
      [{ reward: 1, logprobs: [-1, null] }],
      ['reinforce'],
      'line 1: logprobs[1]: expected number, got null',
    ],
    ['a number too large', '{"reward":1e999,"logprobs":[-1]}\n', ['reinforce'], 'line 1: reward: expected number'],
    [
      'a group that is a list',
      [{ ...pair[0], prompt_id: [1] }],
      ['rloo'],
      'line 1: prompt_id: expected a string or a number',
    ],
    [
      'another name of the prompt',
      [{ group: 'a', reward: 1, logprobs: [-1] }],
      ['rloo'],
      'line 1: there is no field "group"; did you mean prompt_id?',
    ],
    [
      'camelCase',
      [{ ...pair[0], refLogprobs: [1] }],
      ['rloo'],
      'line 1: refLogprobs: the field is called ref_logprobs',
    ],
    ['gae without values', pair, ['gae'], 'line 1: values: missing; gae needs the values of a critic'],
    [
      'values of another length',
      pair.map(row => ({ ...row, values: [1, 2] })),
      ['gae'],
      'line 2: values: expected 3 numbers, one per token, got 2',
    ],
    [
      'no group',
      pair.map(({ prompt_id, ...row }) => row),
      ['rloo'],
      'line 1: prompt_id: missing; rloo compares the samples of a group',
    ],
    [
      'a group of one',
      [...pair, { prompt_id: 1, reward: 1, logprobs: [-1] }],
      ['grpo'],
      'line 3: prompt_id: 1 has 1 sample; grpo needs at least 2',
    ],
    [
      'groups of unequal size',
      [...pair, ...pair, ...pair.map(row => ({ ...row, prompt_id: 'b' }))],
      ['rloo'],
      'line 5: prompt_id: "b" has 2 samples, expected 4 as in the other groups',
    ],
    [
      'groups that are all short',
      pair,
      ['rloo', '--n-samples-per-prompt', '4'],
      'line 1: prompt_id: "a" has 2 samples, expected 4 as --n-samples-per-prompt says',
    ],
    [
      'KL without a reference',
      pair,
      ['rloo', '--kl-coef', '0.1'],
      'line 1: ref_logprobs: missing; --kl-coef 0.1 needs them; with --kl-coef 0 there is no KL',
    ],
    [
      'a reference for some',
      [{ ...pair[0], ref_logprobs: [-1, -2] }, pair[1]],
      ['rloo'],
      'line 2: ref_logprobs: missing; other samples have them',
    ],
    ['no lines', '', ['rloo'], 'no lines'],
  ]
  it.each(cases)('%s', async (_, rows, [estimator, ...args], message) => {
    const { code, written } = await advantages(rows, ['--estimator', estimator!, ...args])
    expect(code).toBe(1)
    expect(printed.stderr).toContain(message)
    expect(printed.stderr).toContain('samples.jsonl')
    expect(written).toBe(false)
    expect(readdirSync(folder)).toEqual(['samples.jsonl'])
  })

  it('all of them, and an output that was there stays', async () => {
    writeFileSync(join(folder, 'advantages.jsonl'), '"before"\n')
    await advantages(
      Array.from({ length: 12 }, () => ({})),
      ['--estimator', 'rloo'],
    )
    expect(printed.stderr).toContain('12 bad lines; nothing was written')
    expect(printed.stderr).toMatch(/line 10: .*\n {2}and 2 more/)
    expect(readFileSync(join(folder, 'advantages.jsonl'), 'utf8')).toBe('"before"\n')
  })
})

describe('misuse', () => {
  it.each([
    [[], '--estimator: expected one of gae, rloo'],
    [['--estimator', 'rlo'], 'did you mean rloo?'],
    [['--estimator', 'reinforce++'], 'REINFORCE++ is the estimator reinforce with --advantages-norm'],
    [['--estimator', 'rloo', '--gama', '1'], 'there is no option --gama; did you mean --gamma?'],
    [['--estimator', 'rloo', '--gamma', 'x'], '--gamma: expected a number, got "x"'],
    [['--estimator', 'rloo', '--gamma', '2'], '--gamma: Too big'],
    [['--estimator', 'rloo', '--kl-estimator', 'k4'], '--kl-estimator: '],
    [
      ['--estimator', 'rloo', '--n-samples-per-prompt', '1'],
      '--n-samples-per-prompt: rloo compares the samples of a prompt',
    ],
    [['--estimator', 'rloo', '--overlong-buffer'], '--max-new-tokens: --overlong-buffer needs it'],
    [['--estimator', 'rloo', '--reward-running-norm-minus-mean'], 'does nothing without --reward-running-norm'],
  ])('%j', async (args, message) => {
    const { code, written } = await advantages(pair, args)
    expect(code).toBe(2)
    expect(printed.stderr).toContain(message)
    expect(written).toBe(false)
  })

  it('files that are not there', async () => {
    const missing = join(folder, 'missing', 'file.jsonl')
    expect(await main(['advantages', '--input', missing, '--output', join(folder, 'x'), '--estimator', 'rloo'])).toBe(1)
    expect(printed.stderr).toContain('there is no such file')
    expect(await main(['advantages', '--input', missing, '--output', missing, '--estimator', 'rloo'])).toBe(1)
    expect(printed.stderr).toContain('its directory does not exist')
    expect(await main(['advantages', '--estimator', 'rloo'])).toBe(2)
    expect(printed.stderr).toContain('--input: expected a file')
  })

  it('--help shows every option with what it is for', async () => {
    const log = vi.spyOn(console, 'log').mockImplementation(() => {})
    expect(await main(['advantages', '--help'])).toBe(0)
    const help = String(log.mock.calls[0])
    for (const option of [
      '--estimator NAME',
      '--kl-coef',
      '--lambd X',
      '--reward-running-norm ',
      '--overlong-buffer-len X',
    ])
      expect(help).toMatch(new RegExp(`${option}.* {2,}\\S`))
    expect(Math.max(...help.split('\n').map(line => line.length))).toBeLessThan(140)
  })
})
