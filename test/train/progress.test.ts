import { expect, test } from 'vitest'
import { plainReport, terminalReport } from '../../src/progress/index.js'
import { summaryTable, trainProgress } from '../../src/train/run/progress.js'
import { VirtualScreen } from '../support/virtual-screen.js'

const shown = ['reward/mean', 'kl/mean', 'length/mean', 'speed/tokens_per_second', 'validation/reward']

function scripted(kind: 'terminal' | 'plain') {
  const screen = new VirtualScreen(120)
  const state = { text: '', now: 10_000 }
  const write = (more: string): void => {
    state.text += more
    screen.write(more)
  }
  const now = (): number => state.now
  const report =
    kind === 'terminal' ? terminalReport({ write, now, columns: () => screen.columns }) : plainReport(write, now)
  return { screen, state, progress: trainProgress(report, { label: 'rl', totalSteps: 100, shown, now }) }
}

test('a terminal has one line, with the time left from the pace since the first step', () => {
  const { screen, state, progress } = scripted('terminal')
  progress.stage('reading the checkpoint')
  expect(screen.lines).toEqual(['  reading the checkpoint'])
  progress.begin(0)
  state.now += 60_000
  progress.step(1, { 'reward/mean': 0.123456, 'kl/mean': 0.00123456 })
  // All that is known: a step took a minute.
  expect(screen.lines).toEqual(['  rl 1/100  [............]  99 min left  reward 0.123  KL 0.00123'])
  state.now += 200
  progress.step(2, { 'reward/mean': 0.2, 'kl/mean': 2e-18, 'length/mean': 41.5, 'speed/tokens_per_second': 23105.4 })
  expect(screen.lines).toEqual([
    '  rl 2/100  [............]  20 s left  reward 0.2  KL 0  length 41.5  23,105 tokens/s',
  ])
  progress.note('checkpoint 2')
  progress.warn('look')
  state.now += 200
  progress.step(3, { 'reward/mean': Number.NaN })
  progress.stage('generating', '3 of 64 samples')
  state.now += 400
  progress.stage('generating', '4 of 64 samples')
  expect(screen.lines).toEqual([
    'checkpoint 2',
    'warning: look',
    '  rl 3/100  [............]  19 s left  generating 4 of 64 samples  reward NaN  KL 0  length 41.5  23,105 tokens/s',
  ])
  progress.end({
    'reward/mean': { first: 0.123456, last: 0.9, best: 0.95 },
    'kl/mean': { first: 0.001, last: 0.02 },
    'policy/loss': { first: 6.939e-18, last: -1e-17 },
  })
  expect(screen.lines).toEqual([
    'checkpoint 2',
    'warning: look',
    '                first  last  best',
    '  reward/mean  0.1235   0.9  0.95',
    '  kl/mean       0.001  0.02',
    '  policy/loss       0     0',
  ])
})

test('a log has whole lines, a stage once, and the last step', () => {
  const { state, progress } = scripted('plain')
  for (let step = 1; step <= 100; step++) {
    progress.stage('generating')
    progress.step(step, { 'reward/mean': step / 100, ...(step === 50 ? { 'validation/reward': 0.5 } : {}) })
    state.now += 100
  }
  progress.end({})
  const lines = state.text.trimEnd().split('\n')
  expect(state.text).not.toContain('\r')
  expect(lines.filter(line => line.includes('generating'))).toHaveLength(1)
  expect(lines.length).toBeLessThan(15)
  expect(lines[1]).toBe('  rl 1/100  0 s left  reward 0.01')
  expect(lines[2]).toBe('  rl 11/100  9 s left  reward 0.11')
  // A metric that is not measured at every step keeps its last value.
  expect(lines.at(-1)).toBe('  rl 100/100  reward 1  validation reward 0.5')
})

test('a resumed training counts its pace from where it goes on', () => {
  const { screen, state, progress } = scripted('terminal')
  progress.begin(90)
  expect(screen.lines).toEqual(['  rl 90/100  [###########.]'])
  progress.step(91, {})
  state.now += 1000
  progress.step(92, {})
  expect(screen.lines).toEqual(['  rl 92/100  [###########.]  8 s left'])
})

test('a table without metrics is empty; without best values it has no column for them', () => {
  expect(summaryTable({})).toEqual([])
  const rows = { 'loss/train': { first: 1, last: 2 }, lr: { first: 1, last: 2 }, 'seconds/data': { first: 1, last: 2 } }
  expect(summaryTable(rows)).toEqual(['              first  last', '  loss/train      1     2'])
})
