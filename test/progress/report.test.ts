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
