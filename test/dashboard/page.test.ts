/** What the page works out itself, without a browser. */
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import type { SampleRow } from '../../src/dashboard/api.js'
import { readAddress, writeAddress } from '../../src/dashboard/page/address.js'
import { number, withoutCommonPath } from '../../src/dashboard/page/format.js'
import { askOn, changed, happened } from '../../src/dashboard/page/happened.js'
import { conditionValue, matches, withCondition } from '../../src/dashboard/page/where.js'
import { question } from '../../src/dashboard/question.js'
import { SampleColumns } from '../../src/dashboard/samples/columns.js'
import { applyCondition, finishes, parseWhere, promptHash } from '../../src/dashboard/samples/where.js'

const reasons = ['', 'zero-variance', 'too-long']

/** Rows with all that a condition can ask for; some numbers are not there. */
const rows = Array.from({ length: 60 }, (_, i): SampleRow => {
  const known = (value: number): number | null => (i % 7 === 3 ? null : Math.fround(value))
  return {
    ...{ id: `${i}`, iteration: i >> 2, sample: i & 3, promptId: `p${i >> 3}/0`, prompt: 'a', response: 'b' },
    ...{
      reward: known((i % 10) / 10),
      length: i,
      promptLength: 60 - i,
      kl: known(i / 100),
      entropy: null,
      gap: known(-i),
    },
    components: i % 5 === 0 ? {} : { format: Math.fround((i % 3) / 3) },
    finish: finishes[i % finishes.length]!,
    dropped: reasons[i % 3] || null,
    trained: i % 2 === 0,
    flag: null,
  }
})

test('a report filters its samples as the server does', () => {
  const columns = new SampleColumns()
  const nan = (value: number | null): number => value ?? Number.NaN
  for (const row of rows)
    columns.add({
      ...{ iteration: row.iteration, sample: row.sample, prompt: promptHash(row.promptId), reward: nan(row.reward) },
      ...{ components: row.components, length: row.length, promptLength: row.promptLength, kl: nan(row.kl) },
      ...{ entropy: nan(row.entropy), gap: nan(row.gap), finish: finishes.indexOf(row.finish) },
      ...{ dropped: reasons.indexOf(row.dropped ?? ''), trained: row.trained ? 1 : 0, foldAt: 0, foldBytes: 0 },
    })
  const words = { dropReasons: reasons, components: columns.componentNames }
  for (const where of [
    ...['reward=0.3', 'reward!=0.3', 'reward<0.3', 'reward<=0.3', 'reward>0.3', 'reward>=0.3', 'entropy!=1', 'kl>=0.1'],
    ...['step=4', 'iteration>3 iteration<=9', 'component.format>0.4', 'component.format!=0', 'gap<-10 length<30'],
    ...['finish=length', 'finish!=stop', 'trained=yes', 'trained!=yes', 'flagged=no', 'flagged=yes', 'promptLength<9'],
    ...['dropped=yes', 'dropped=no', 'dropped!=no', 'dropped=too-long', 'dropped!=too-long', 'prompt="p2/0" sample=1'],
  ]) {
    const found = new Uint8Array(rows.length).fill(1)
    for (const condition of parseWhere(where, words)) {
      if (condition.kind !== 'flagged') applyCondition(condition, columns.pieces[0]!, found)
      else if (condition.value) found.fill(0)
    }
    expect(
      rows.map(row => Number(matches(row, where))),
      where,
    ).toEqual([...found])
  }
  expect(() => matches(rows[0]!, 'colour=red')).toThrow('there is no "colour"')
})

test('conditions are put together and taken apart', () => {
  const where = withCondition('reward<0.5 prompt="a b"', 'finish', '=', 'length')
  expect(where).toBe('reward<0.5 prompt="a b" finish=length')
  expect(conditionValue(where, 'prompt', '=')).toBe('a b')
  expect(withCondition(withCondition(where, 'prompt', '=', 'c d'), 'reward', '<', '')).toBe(
    'finish=length prompt="c d"',
  )
})

test('an address says what is shown, whatever a run is called', () => {
  for (const run of ['a', 'a/b?c=d#e', '<img src=x onerror=alert(1)>', '%', 'ü 日本']) {
    const address = {
      runs: [run],
      page: 'samples',
      query: { where: 'reward<0.5 finish=length', search: 'a&b=c' },
    } as const
    expect(readAddress(writeAddress(address))).toEqual(address)
    const compared = { runs: [run, 'other'], page: 'curves', query: {} } as const
    expect(readAddress(writeAddress(compared))).toEqual(compared)
  }
  for (const unknown of ['', '#', '#/run', '#/run/a/nothing', '#/what?'])
    expect(readAddress(unknown).page, unknown).toBe('runs')
})

describe('views of a run that goes on', () => {
  beforeAll(() => void vi.useFakeTimers())
  afterAll(() => void vi.useRealTimers())
  const pass = (ms: number) => vi.advanceTimersByTimeAsync(ms)

  test('what happens while a view waits for its answer is asked for after it', async () => {
    const answers: (() => void)[] = []
    const stop = askOn(['metrics'], () => new Promise(resolve => answers.push(resolve)))
    expect(answers).toHaveLength(1)
    for (const kind of ['metrics', 'metrics', 'samples'] as const) {
      happened(kind)
      await pass(3000)
    }
    expect(answers).toHaveLength(1)
    answers[0]!()
    await pass(3000)
    expect(answers).toHaveLength(2)
    answers[1]!()
    await pass(3000)
    expect(answers).toHaveLength(2)
    stop()
    happened('metrics')
    await pass(3000)
    expect(answers).toHaveLength(2)
  })

  test('a fast run is asked for every two seconds, what the page itself changed at once', async () => {
    await pass(3000)
    let asked = 0
    const stop = askOn(['metrics', 'acts'], async () => void asked++)
    happened('metrics')
    await pass(100)
    expect(asked).toBe(2)
    for (let second = 0; second < 10; second++) {
      await pass(1000)
      happened('metrics')
    }
    await pass(2000)
    expect(asked).toBe(2 + 6)
    happened('metrics')
    changed('acts')
    await pass(100)
    expect(asked).toBe(2 + 6 + 1)
    stop()
  })
})

test('numbers, questions and paths are short', () => {
  expect([0.0005, 0.00001234, -1e-16, 0.123456, 1234.5, 12345678, 2e9, null].map(number)).toEqual([
    '0.0005',
    '1.23e-5',
    '-1e-16',
    '0.1235',
    '1235',
    '1.23e7',
    '2e9',
    '-',
  ])
  expect(question('system\nBe short.\nuser\nHow are\n\nyou?\nassistant\n')).toBe('How are\n\nyou?')
  expect(question('user\nA\nassistant\nB\nuser\nC\nassistant\n<think>\n')).toBe('C')
  for (const whole of ['1 + 1 = ', 'user\n', 'A user\nhas an\nassistant of two']) expect(question(whole)).toBe(whole)
  expect(withoutCommonPath(['/a/b/c.jsonl', '-', '/a/b/d/e.jsonl'])).toEqual(['…/c.jsonl', '-', '…/d/e.jsonl'])
  for (const whole of [
    ['/a', '/b'],
    ['1', '2'],
    ['/a/b', 'x'],
  ])
    expect(withoutCommonPath(whole)).toEqual(whole)
})
