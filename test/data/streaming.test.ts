import { once } from 'node:events'
import { createWriteStream, statSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { dataFolder, tokenizer } from '../support/data.js'

const { folder, open } = dataFolder()
const megabyte = 2 ** 20

it('a file of 200 MB is opened, checked and trained on in memory that does not grow with it', async () => {
  const file = createWriteStream(join(folder, 'large.jsonl'))
  const filler = 'some words that go on and on, '.repeat(2500)
  const count = 2800
  for (let i = 0; i < count; i++)
    if (!file.write(`${JSON.stringify({ prompt: `row ${i}`, filler })}\n`)) await once(file, 'drain')
  file.end()
  await once(file, 'close')
  expect(statSync(join(folder, 'large.jsonl')).size).toBeGreaterThan(200e6)

  const before = process.memoryUsage().rss
  let peak = before
  const watch = setInterval(() => {
    peak = Math.max(peak, process.memoryUsage().rss)
  }, 5)
  try {
    // A prompt is not encoded here, so that the time goes into reading: every row of the file, in a shuffled order.
    const turns = eventLoopTurns()
    const dataset = await open('prompts', 'large.jsonl', { validationShare: 0.1 })
    // Others have their turn at least every 256 KiB.
    expect(turns.end()).toBeGreaterThan(200e6 / 2 ** 18)
    expect(dataset.report).toMatchObject({ rows: count })
    const stream = dataset.train(tokenizer)
    const seen = new Set<string>()
    while (stream.cursor.epoch === 0) for (const { where } of await stream.take(16)) seen.add(where)
    expect(seen.size).toBe(stream.size)
  } finally {
    clearInterval(watch)
  }
  expect((peak - before) / megabyte).toBeLessThan(100)
}, 60_000)

function eventLoopTurns(): { end(): number } {
  let turns = 0
  let going = true
  const turn = () => {
    turns++
    if (going) setImmediate(turn)
  }
  setImmediate(turn)
  return {
    end: () => {
      going = false
      return turns
    },
  }
}
