/** How what servers send is read: long answers a little at a time, events from any pieces, log-probabilities without the rest. */
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { readingSlot } from '../../../src/rollout/remote/engine-client.js'
import { serverWords } from '../../../src/rollout/remote/errors.js'
import { inTurn, parseJson, parseLong } from '../../../src/rollout/remote/parse-json.js'
import { EventLines } from '../../../src/rollout/remote/read-answer.js'
import { SampleRecord } from '../../../src/rollout/remote/sample-task.js'
import { scanAnswer } from '../../../src/rollout/vllm/scan-logprobs.js'

setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc') as () => void

test('any JSON, in slices of any size, is what JSON.parse makes of it', async () => {
  const spaces = fc.constantFrom(undefined, 1, '\t')
  await fc.assert(
    fc.asyncProperty(fc.jsonValue(), fc.integer({ min: 1, max: 60 }), spaces, async (value, slice, space) => {
      const text = JSON.stringify(value, undefined, space)
      expect(await parseLong(text, slice)).toEqual(JSON.parse(text))
    }),
    { numRuns: 500 },
  )
})

test('names that mean something else in an assignment are names', async () => {
  const text = '{"a":[1,2,3,4,5],"__proto__":{"x":[1,2,3,4,5,6]},"b":{"__proto__":1}}'
  const parsed = await parseLong(text, 6)
  expect(JSON.stringify(parsed)).toBe(text)
  expect(Object.getPrototypeOf(parsed)).toBe(Object.prototype)
})

test('what is no JSON is refused, at once or in slices', async () => {
  const cut = fc.tuple(fc.jsonValue(), fc.nat()).map(([value, at]) => {
    const text = JSON.stringify({ value })
    return text.slice(0, at % text.length)
  })
  await fc.assert(
    fc.asyncProperty(cut, async text => {
      await expect(parseLong(text, 8)).rejects.toThrow('not JSON')
      await expect(parseJson(text)).rejects.toThrow('not JSON')
    }),
  )
  await expect(parseJson('{"logprob":NaN}')).rejects.toThrow('NaN or infinite numbers')
})

test('a long answer leaves timers their turn', async () => {
  const text = JSON.stringify({ rows: Array.from({ length: 100_000 }, (_, id) => ({ id, logprob: -id / 7 })) })
  let ticks = 0
  const timer = setInterval(() => ticks++, 1)
  const parsed = (await parseJson(text)) as { rows: { id: number }[] }
  clearInterval(timer)
  expect(parsed.rows).toHaveLength(100_000)
  expect(parsed.rows[99_999]!.id).toBe(99_999)
  expect(ticks).toBeGreaterThan(3)
})

test('work in turn: in order, each with its own result, others in between', async () => {
  const order: number[] = []
  const spin = (ms: number): void => {
    for (const end = performance.now() + ms; performance.now() < end; );
  }
  let ticks = 0
  const timer = setInterval(() => ticks++, 1)
  const work = Array.from({ length: 20 }, (_, i) =>
    inTurn(() => {
      spin(2)
      order.push(i)
      if (i === 7) throw new Error('seven')
      return i
    }),
  )
  const results = await Promise.allSettled(work)
  clearInterval(timer)
  expect(order).toEqual(Array.from({ length: 20 }, (_, i) => i))
  expect(results[7]).toMatchObject({ status: 'rejected' })
  expect(results[8]).toMatchObject({ value: 8 })
  expect(ticks).toBeGreaterThan(3)
})

test('work that is done is let go, however much follows', async () => {
  let alive = 0
  const gone = new FinalizationRegistry(() => alive--)
  const spin = (): void => {
    for (const end = performance.now() + 1; performance.now() < end; );
  }
  let isOver = false
  // There is always more to do.
  const refill = (): void => {
    if (!isOver) void inTurn(spin).then(refill)
  }
  for (let i = 0; i < 20; i++) refill()
  for (let i = 0; i < 50; i++) {
    const text = { long: 'x'.repeat(1000) }
    gone.register(text, undefined)
    alive++
    await inTurn(() => text.long.length)
  }
  await expect
    .poll(
      () => {
        collectGarbage()
        return alive
      },
      { timeout: 10_000 },
    )
    .toBeLessThan(10)
  isOver = true
})

test('so many answers are read at once, and none is forgotten, whatever becomes of the others', async () => {
  const begun: number[] = []
  const slots = Array.from({ length: 500 }, (_, i) => readingSlot(() => begun.push(i)))
  const atOnce = slots.filter(({ waits }) => !waits).length
  expect(atOnce).toBeLessThan(100)
  // Those that began end one by one, some that wait are given up; nobody overtakes.
  for (const [i, slot] of slots.entries()) if (i % 7 === 0) slot.release()
  for (const slot of slots) slot.release()
  expect(begun).toEqual([...begun].sort((a, b) => a - b))
  expect(readingSlot(() => {}).waits).toBe(false)
})

test('an answer that never ends holds nobody up for long', async () => {
  const stuck = Array.from({ length: 200 }, () => readingSlot(() => {}))
  let begun = false
  const late = readingSlot(() => {
    begun = true
  })
  expect(late.waits).toBe(true)
  await expect.poll(() => begun).toBe(true)
  for (const slot of [...stuck, late]) slot.release()
})

test('events from pieces that end anywhere', () => {
  const texts = fc.array(fc.string({ unit: 'grapheme' }).map(text => text.replaceAll(/[\r\n]/g, '')))
  fc.assert(
    fc.property(texts, fc.constantFrom('\n', '\r\n'), fc.integer({ min: 1, max: 9 }), (events, end, size) => {
      const bytes = Buffer.from(events.map(event => `data: ${event}${end}: comment${end}${end}`).join(''))
      const lines = new EventLines()
      const found: string[] = []
      for (let at = 0; at < bytes.length; at += size) found.push(...lines.push(bytes.subarray(at, at + size)))
      expect(found).toEqual(events)
      expect(lines.pending).toBe(0)
    }),
  )
})

const logprob = fc.double({ min: -50, max: 0, noNaN: true })
const row = fc.record({ id: fc.nat(200_000), logprob, rank: fc.nat(1000), others: fc.array(logprob, { maxLength: 3 }) })

test('log-probabilities found by scanning are those that JSON.parse finds', () => {
  fc.assert(
    fc.property(fc.array(row), rows => {
      const content = rows.map(({ id, logprob: value, rank, others }) => ({
        token_id: id,
        logprob: value,
        rank,
        top_logprobs: others.map((other, k) => ({ token_id: k, logprob: other, rank: k + 1 })),
      }))
      const choice = { index: 0, finish_reason: 'length', token_ids: rows.map(({ id }) => id), logprobs: { content } }
      const scanned = scanAnswer(JSON.stringify({ request_id: 'x', choices: [choice], prompt_logprobs: null }))
      expect(scanned?.ids).toEqual(rows.map(({ id }) => id))
      expect(scanned?.logprobs).toEqual(rows.map(({ logprob: value }) => (value === 0 ? 0 : value)))
      expect(scanned?.body).toMatchObject({ choices: [{ token_ids: choice.token_ids, logprobs: { content: [] } }] })
    }),
  )
})

test('an answer in another form, or cut off, is left to the parser', () => {
  const sound =
    '{"choices":[{"token_ids":[5,6],"logprobs":{"content":[{"token_id":5,"logprob":-1.5,"rank":1,"top_logprobs":[]},{"token_id":6,"logprob":-2,"rank":null,"top_logprobs":[]}]}}]}'
  expect(scanAnswer(sound)).toMatchObject({ ids: [5, 6], logprobs: [-1.5, -2] })
  for (let end = 0; end < sound.length; end++) expect(scanAnswer(sound.slice(0, end)), `${end}`).toBeUndefined()
  for (const [from, to] of [
    ['"logprob":-1.5', '"logprob":null'],
    ['"logprob":-1.5', '"logprob":NaN'],
    ['"token_id":5', '"token":"token_id:5"'],
    ['"content":[', '"content":null,"x":['],
    ['[{"token_id":5', '[ {"token_id":5'],
  ] as const)
    expect(scanAnswer(sound.replace(from, to)), to).toBeUndefined()
})

test('a record says which weights made each of its tokens, whatever is cut and said anew', () => {
  const part = fc.record({ count: fc.integer({ min: 0, max: 5 }), version: fc.nat(3), cut: fc.option(fc.nat(20)) })
  fc.assert(
    fc.property(fc.array(part), parts => {
      const record = new SampleRecord()
      let model: number[] = []
      for (const { count, version, cut } of parts) {
        const ids = Array.from({ length: count }, (_, i) => i)
        record.append({ ids, logprobs: ids, top: undefined }, version)
        model.push(...ids.map(() => version))
        if (cut !== null) {
          record.truncate(cut)
          model = model.slice(0, cut)
        }
      }
      expect(record.length).toBe(model.length)
      expect(record.versions.flatMap(({ version, start, end }) => Array(end - start).fill(version))).toEqual(model)
      for (const [i, span] of record.versions.entries()) expect(span.start).toBe(record.versions[i - 1]?.end ?? 0)
    }),
  )
})

test('a server’s words, out of each of the forms they come in', () => {
  for (const body of [
    { error: { message: 'too long', type: 'BadRequestError' } },
    { error: 'too long' },
    { object: 'error', message: 'too long' },
    { detail: 'too long' },
    { success: false, error_message: 'too long' },
    'too long',
  ])
    expect(serverWords(JSON.stringify(body))).toBe('too long')
  expect(serverWords('<html>too\n  long</html>')).toBe('<html>too long</html>')
})
