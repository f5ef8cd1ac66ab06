import { expect, test } from 'vitest'
import { plainReport, terminalReport } from '../../src/progress/index.js'
import { duration, summaryTable, trainProgress } from '../../src/train/run/progress.js'

const shown = ['reward/mean', 'kl/mean', 'length/mean', 'speed/tokens_per_second', 'validation/reward']

function scripted(kind: 'terminal' | 'plain') {
  const screen = { text: '', now: 10_000 }
  const write = (more: string): void => {
    screen.text += more
  }
  const now = (): number => screen.now
  const report = kind === 'terminal' ? terminalReport(write, now) : plainReport(write, now)
  return { screen, progress: trainProgress(report, { label: 'rl', totalSteps: 100, shown, now }) }
}

/** What a person sees at the end: carriage returns and wipes done. */
const visible = (text: string): string => text.replaceAll('\r\x1b[K', '\r').replaceAll(/[^\n]*\r/g, '')

test('a terminal has one line, with the time left from the pace since the first step', () => {
  const { screen, progress } = scripted('terminal')
  progress.stage('first step: making CUDA graphs')
  expect(visible(screen.text)).toBe('  first step: making CUDA graphs')
  screen.now += 60_000
  progress.step(1, { 'reward/mean': 0.123456, 'kl/mean': 0.00123456 })
  screen.now += 200
  progress.step(2, { 'reward/mean': 0.2, 'kl/mean': 0.002, 'length/mean': 41.5, 'speed/tokens_per_second': 23105.4 })
  expect(visible(screen.text)).toBe('  rl 2/100  reward 0.2  KL 0.002  length 41.5  23,105 tokens/s  20 s left')
  progress.note('checkpoint 2')
  screen.now += 200
  progress.step(3, { 'reward/mean': Number.NaN })
  progress.stage('generating')
  expect(visible(screen.text)).toBe(
    'checkpoint 2\n  rl 3/100  reward NaN  KL 0.002  length 41.5  23,105 tokens/s  19 s left  generating',
  )
  progress.end({ 'reward/mean': { first: 0.123456, last: 0.9, best: 0.95 }, 'kl/mean': { first: 0.001, last: 0.02 } })
  expect(visible(screen.text)).toBe(
    [
      'checkpoint 2',
      '                first  last  best',
      '  reward/mean  0.1235   0.9  0.95',
      '  kl/mean       0.001  0.02',
      '',
    ].join('\n'),
  )
})

test('a log has whole lines, a stage once, and the last step', () => {
  const { screen, progress } = scripted('plain')
  for (let step = 1; step <= 100; step++) {
    progress.stage('generating')
    progress.step(step, { 'reward/mean': step / 100, ...(step === 50 ? { 'validation/reward': 0.5 } : {}) })
    screen.now += 100
  }
  progress.end({})
  const lines = screen.text.trimEnd().split('\n')
  expect(screen.text).not.toContain('\r')
  expect(lines.filter(line => line.includes('generating'))).toHaveLength(1)
  expect(lines.length).toBeLessThan(15)
  expect(lines[1]).toBe('  rl 1/100  reward 0.01')
  expect(lines[2]).toBe('  rl 11/100  reward 0.11  9 s left')
  // A metric that is not measured at every step keeps its last value.
  expect(lines.at(-1)).toBe('  rl 100/100  reward 1  validation reward 0.5')
})

test('a resumed training counts its pace from where it goes on', () => {
  const { screen, progress } = scripted('terminal')
  progress.step(91, {})
  screen.now += 1000
  progress.step(92, {})
  expect(visible(screen.text)).toBe('  rl 92/100  8 s left')
})

test.each([
  [0.2, '0 s'],
  [99, '99 s'],
  [100, '2 min'],
  [5_900, '98 min'],
  [5_990, '1 h 40 min'],
  [7_200, '2 h'],
  [7_500, '2 h 5 min'],
  [172_800, '2 d'],
  [180_000, '2 d 2 h'],
])('%d seconds are %s', (seconds, text) => {
  expect(duration(seconds)).toBe(text)
})

test('a table without metrics is empty; without best values it has no column for them', () => {
  expect(summaryTable({})).toEqual([])
  const rows = { 'loss/train': { first: 1, last: 2 }, lr: { first: 1, last: 2 }, 'seconds/data': { first: 1, last: 2 } }
  expect(summaryTable(rows)).toEqual(['              first  last', '  loss/train      1     2'])
})
