import { expect, test } from 'vitest'
import { count, plainReport, terminalReport } from '../../src/progress/report.js'

test('a log gets a line for every fifth, and none for what is soon over', () => {
  let text = ''
  const report = plainReport(more => {
    text += more
  })
  const large = report.transfer('torch')
  for (let bytes = 0; bytes <= 5e8; bytes += 1e7) large.at(bytes, 5e8)
  report.transfer('small').at(1e6, 1e6)
  expect(text).toBe([20, 40, 60, 80, 100].map(percent => `  torch ${percent} % of 500 MB\n`).join(''))
})

test('how it goes is said instead of the speed, in a log too', () => {
  let text = ''
  const write = (more: string): void => {
    text += more
  }
  plainReport(write).transfer('work', count('things', 10)).at(8, 20, 'well')
  terminalReport(write).transfer('work', count('things', 10)).at(5, 20, 'well')
  expect(text).toBe('  work 40 % of 20 things  well\n\r\x1b[K  work [######..................] 25 % of 20 things  well')
})

test('a terminal gets one line, redrawn', () => {
  let text = ''
  let now = 1000
  const report = terminalReport(
    more => {
      text += more
    },
    () => now,
  )
  const transfer = report.transfer('torch')
  now += 1000
  transfer.at(250e6, 500e6)
  transfer.at(251e6, 500e6) // Too soon after the last to be drawn.
  transfer.end()
  expect(text).toBe('\r\x1b[K  torch [############............] 50 % of 500 MB  250 MB/s\r\x1b[K')
})

test('a live line is redrawn in place, stays below the lines that come, and never breaks', () => {
  let text = ''
  let now = 0
  const report = terminalReport(
    more => {
      text += more
    },
    () => now,
    () => 20,
  )
  const drawn = (): string => {
    const since = text.replaceAll('\r\x1b[K', '|')
    text = ''
    return since
  }
  const line = report.live()
  now = 1000
  line.show('step 1')
  line.show('step 2') // Too soon after the last to be drawn.
  expect(drawn()).toBe('|  step 1')
  line.doing('saving')
  expect(drawn()).toBe('|  step 2  saving')
  report.line('saved')
  expect(drawn()).toBe('|saved\n  step 2  saving')
  now += 100
  line.show('step 3 of a great many') // What was being done is done.
  expect(drawn()).toBe('|  step 3 of a great')
  line.end()
  report.line('done')
  expect(drawn()).toBe('||done\n')
})

test('a log of a live line becomes sparser, says each thing that is done once, and has the last line', () => {
  let text = ''
  let now = 0
  const line = plainReport(
    more => {
      text += more
    },
    () => now,
  ).live()
  const shown: number[] = []
  for (let second = 0; second <= 3600; second += 0.5) {
    now = second * 1000
    line.doing('working')
    line.show(`at ${second}`)
  }
  line.end()
  line.end()
  for (const [, at] of text.matchAll(/at (\S+)/g)) shown.push(Number(at))
  expect(text.match(/working/g)).toHaveLength(1)
  expect(shown.slice(0, 4)).toEqual([0, 1, 2, 3])
  expect(shown.length).toBeLessThan(300)
  expect(shown.at(-1)).toBe(3600)
  const gaps = shown.slice(1, -1).map((at, i) => at - shown[i]!)
  expect(Math.max(...gaps)).toBeLessThanOrEqual(60.5)
})
