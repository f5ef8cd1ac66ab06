import { expect, test } from 'vitest'
import { inColour } from '../../src/progress/colour.js'
import { count, plainReport, type Report, terminalReport } from '../../src/progress/index.js'
import { textColumns } from '../../src/progress/width.js'
import { VirtualScreen } from '../support/virtual-screen.js'

function terminal(columns: number, { colour = false } = {}) {
  const screen = new VirtualScreen(columns)
  const clock = { now: 100_000 }
  const report = terminalReport({
    write: text => screen.write(text),
    columns: () => screen.columns,
    now: () => clock.now,
    ...(colour ? { paint: inColour } : {}),
  })
  return { screen, clock, report }
}

function log() {
  const clock = { now: 0 }
  const written = { text: '' }
  const report = plainReport(
    more => {
      written.text += more
    },
    () => clock.now,
  )
  return { written, clock, report }
}

test('a log gets a line for every fifth, and none for what is soon over', () => {
  const { written, report } = log()
  const large = report.transfer('torch')
  for (let bytes = 0; bytes <= 5e8; bytes += 1e7) large.at(bytes, 5e8)
  report.transfer('small').at(1e6, 1e6)
  expect(written.text).toBe([20, 40, 60, 80, 100].map(percent => `  torch ${percent} % of 500 MB\n`).join(''))
})

test('a log hears of a small work that takes long, more and more rarely', () => {
  const { written, clock, report } = log()
  const rows = report.transfer('checking', count('rows', 1_000_000))
  for (; clock.now <= 600_000; clock.now += 1000) rows.at(clock.now / 10_000, 100)
  const lines = written.text.trimEnd().split('\n')
  expect(lines[0]).toBe('  checking 1 % of 100 rows')
  expect(lines.length).toBeGreaterThan(10)
  expect(lines.length).toBeLessThan(35)
})

test('how it goes is said instead of the speed, in a log too', () => {
  const { written, report } = log()
  report.transfer('work', count('things', 10)).at(8, 20, 'well')
  expect(written.text).toBe('  work 40 % of 20 things  well\n')
  const { screen, clock, report: shown } = terminal(80)
  const work = shown.transfer('work', count('things', 10))
  clock.now += 1000
  work.at(5, 20, 'well')
  expect(screen.lines).toEqual(['  work [######..................] 25 % of 20 things  well'])
})

test('a terminal gets one line, redrawn, from the beginning on', () => {
  const { screen, clock, report } = terminal(80)
  const transfer = report.transfer('loading the actor')
  expect(screen.lines).toEqual(['  loading the actor'])
  clock.now += 1000
  transfer.at(250e6, 500e6)
  transfer.at(251e6, 500e6) // Too soon after the last to be drawn.
  expect(screen.lines).toEqual(['  loading the actor [############............] 50 % of 500 MB  250 MB/s'])
  transfer.end()
  expect(screen.lines).toEqual([])
  expect(screen.cursor).toEqual({ row: 0, column: 0 })
})

test.each([
  [200, '  loading a model [############............] 50 % of 500 MB  50 MB/s  5 s left'],
  [80, '  loading a model [############............] 50 % of 500 MB  5 s left'],
  [70, '  loading a model 50 % of 500 MB  5 s left'],
  [40, '  loading a model 50 % of 500 MB'],
  [24, '  loading a m... 50 %'],
  [16, '  loa... 50 %'],
])('at %d columns a bar loses its speed, then its bar, never its share', (columns, line) => {
  const { screen, clock, report } = terminal(columns)
  const transfer = report.transfer('loading a model')
  clock.now += 5000
  transfer.at(250e6, 500e6)
  expect(screen.lines).toEqual([line])
  expect(screen.wraps).toBe(0)
})

const status = {
  at: 'grpo 12/80',
  share: 0.15,
  left: '3 min left',
  details: ['reward 0.351', 'validation reward 0.4', 'KL 0.002', 'length 211', '12,345 tokens/s'],
}

test.each([
  [
    200,
    '  grpo 12/80  [##..........]  3 min left  generating 34 of 64 samples  reward 0.351  validation reward 0.4  KL 0.002  length 211  12,345 tokens/s',
  ],
  [80, '  grpo 12/80  3 min left  generating 34 of 64 samples  reward 0.351'],
  [60, '  grpo 12/80  3 min left  generating 34 of 64 samples'],
  [40, '  grpo 12/80  3 min left  generati...'],
])('at %d columns step, time left and phase come first, and metrics are cut', (columns, line) => {
  const { screen, clock, report } = terminal(columns)
  const live = report.live()
  live.show(status)
  live.doing('generating', '34 of 64 samples')
  clock.now += 500
  live.doing('generating', '34 of 64 samples')
  expect(screen.lines).toEqual([line])
  expect(screen.wraps).toBe(0)
})

test('a live line stays below the lines that come, and what is above it stays', () => {
  const { screen, clock, report } = terminal(80)
  const live = report.live()
  live.doing('checking')
  expect(screen.lines).toEqual(['  checking'])
  clock.now += 3000
  live.doing('checking')
  expect(screen.lines).toEqual(['  checking 3 s'])
  live.show({ at: 'sft 1/10' })
  live.doing('saving')
  clock.now += 1000
  report.line('a line')
  report.warn('a warning')
  expect(screen.lines).toEqual(['a line', 'warning: a warning', '  sft 1/10  saving'])
  // Work within the work has the line while it lasts.
  const inner = report.transfer('loading')
  expect(screen.lines.at(-1)).toBe('  loading')
  report.line('another line')
  expect(screen.lines.slice(2)).toEqual(['another line', '  loading'])
  inner.end()
  expect(screen.lines.at(-1)).toBe('  sft 1/10  saving')
  live.end()
  report.line('done')
  expect(screen.lines).toEqual(['a line', 'warning: a warning', 'another line', 'done'])
})

/** Everything a command shows, in an order that has all cases. */
function busy(report: Report, clock: { now: number }, each: () => void): void {
  const live = report.live()
  const names = ['model', 'ein sehr langer Name eines Verzeichnisses mit Umlauten äöü', '模型目录/训练 🎉', 'a\nb\tc']
  for (const [place, name] of names.entries()) {
    const transfer = report.transfer(`loading ${name}`)
    for (let amount = 0; amount <= 2e9; amount += 1.7e8) {
      clock.now += 700
      transfer.at(amount, place % 2 === 0 ? 2e9 : undefined)
      each()
    }
    transfer.end()
    live.doing(`reading ${name}`)
    each()
    for (let step = 1; step < 6; step++) {
      clock.now += 900
      live.show({ ...status, at: `${name} ${step}/80` })
      live.doing('generating', `${step} of 64 samples`)
      clock.now += 900
      live.doing('generating', `${step} of 64 samples`)
      each()
    }
    report.line(`line ${place}`)
    each()
  }
  live.end()
  each()
}

test.each([[10], [24], [40], [79], [80], [81], [120], [200]])(
  'no line ever wraps at %d columns, and nothing is left over',
  columns => {
    for (const colour of [false, true]) {
      const { screen, clock, report } = terminal(columns, { colour })
      busy(report, clock, () => {
        expect(screen.wraps).toBe(0)
        expect(textColumns(screen.lines.at(-1) ?? '')).toBeLessThanOrEqual(Math.max(1, columns - 3))
      })
      expect(screen.lines).toEqual(['line 0', 'line 1', 'line 2', 'line 3'])
    }
  },
)

test('a terminal that is made narrower and wider while it runs keeps its lines, and nothing is left over', () => {
  const { screen, clock, report } = terminal(120)
  const widths = [120, 40, 41, 200, 30, 80, 25, 120]
  let turn = 0
  busy(report, clock, () => {
    screen.resize(widths[turn++ % widths.length]!)
  })
  const whole = screen.lines.filter(line => line.trim() !== '')
  expect(whole).toEqual(['line 0', 'line 1', 'line 2', 'line 3'])
})

test('colours are around words, and take no room', () => {
  const written: string[] = []
  const report = terminalReport({ write: text => written.push(text), columns: () => 60, paint: inColour })
  report.warn('look')
  const live = report.live()
  live.show(status)
  expect(written.join('')).toContain('\x1b[33mwarning:\x1b[39m look\n')
  expect(written.join('')).toContain('\x1b[1mgrpo 12/80\x1b[22m  3 min left')
  expect(textColumns('\x1b[1mgrpo\x1b[22m')).toBe(4)
})

test('a log of a live line becomes sparser, says each thing that is done once, and has the last line', () => {
  const { written, clock, report } = log()
  const line = report.live()
  const shown: number[] = []
  for (let second = 0; second <= 3600; second += 0.5) {
    clock.now = second * 1000
    line.doing('working')
    line.show({ at: `at ${second}`, left: '3 s left', details: ['loss 1'] })
  }
  line.end()
  line.end()
  for (const [, at] of written.text.matchAll(/at (\S+) {2}3 s left {2}loss 1/g)) shown.push(Number(at))
  expect(written.text.match(/working/g)).toHaveLength(1)
  expect(shown.slice(0, 4)).toEqual([0, 1, 2, 3])
  expect(shown.length).toBeLessThan(300)
  expect(shown.at(-1)).toBe(3600)
  const gaps = shown.slice(1, -1).map((at, i) => at - shown[i]!)
  expect(Math.max(...gaps)).toBeLessThanOrEqual(60.5)
})

test('a log hears how far a long activity is', () => {
  const { written, clock, report } = log()
  const line = report.live()
  for (let done = 0; done <= 64; done++) {
    line.doing('generating', `${done} of 64 samples`)
    clock.now += 1000
  }
  expect(written.text.split('\n').slice(0, 3)).toEqual([
    '  generating',
    '  generating 10 of 64 samples',
    '  generating 20 of 64 samples',
  ])
})
