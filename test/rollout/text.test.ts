import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { LocalModel, parseConfig } from '../../src/model/index.js'
import { LocalEngine, type Sample, type SamplingParams } from '../../src/rollout/index.js'
import { TextStream, type TextStreamOptions } from '../../src/rollout/text-stream.js'
import { Tokenizer } from '../../src/text/index.js'
import { completed } from '../support/generation.js'
import { fixture } from '../support/models.js'

const tokenizerPath = new URL('../fixtures/tokenizer/', import.meta.url).pathname
let tokenizer: Tokenizer
beforeAll(async () => {
  tokenizer = await Tokenizer.load(tokenizerPath)
})

describe.each(['of bytes', 'in windows'] as const)('text as tokens come, %s', kind => {
  const start = (options: TextStreamOptions) => {
    const source: Pick<Tokenizer, 'decode' | 'byteLevel'> =
      kind === 'of bytes' ? tokenizer : { decode: (ids, given) => tokenizer.decode(ids, given), byteLevel: undefined }
    return new TextStream(source, new Int32Array(0), options)
  }

  const texts = ['Hello there, world!', 'naïve café 😀 日本語 ok', 'a\n\n  b\t<|im_end|>c']
  test.each(texts)('%j token by token is what decode gives', async text => {
    const ids = await tokenizer.encode(text, { addSpecialTokens: false })
    const stream = start({ skipSpecialTokens: false, stop: [] })
    let shown = ''
    for (const [i, id] of ids.entries()) {
      await stream.push([id], { last: i === ids.length - 1 })
      const part = stream.take({ last: i === ids.length - 1 })
      expect(part).not.toContain('�')
      shown += part
    }
    expect(shown).toBe(await tokenizer.decode(ids))
  })

  test('a stop string over token borders ends it before the string; what may become one is held back', async () => {
    const ids = await tokenizer.encode('one two three four', { addSpecialTokens: false })
    const stream = start({ skipSpecialTokens: true, stop: ['wo thr', 'zzz'] })
    let shown = ''
    let used = 0
    for (const id of ids) {
      await stream.push([id])
      shown += stream.take()
      used++
      if (stream.stopped) break
    }
    expect(stream.stopped).toBe('wo thr')
    expect(shown).toBe('one t')
    const whole = await tokenizer.decode(ids.slice(0, used))
    expect(whole).toContain('wo thr')
    expect(await tokenizer.decode(ids.slice(0, used - 1))).not.toContain('wo thr')
    await stream.push(ids)
    expect(stream.text).toBe('one t')
  })

  test('a stop string does not begin in text where nothing stops', async () => {
    const [a, b] = [tokenizer.idOf('a')!, tokenizer.idOf('b')!]
    const stream = start({ skipSpecialTokens: true, stop: ['ab'] })
    await stream.push([a, b, a], { stops: 'ignored' })
    expect(stream.take()).toBe('aba')
    await stream.push([b, a])
    expect([stream.take(), stream.stopped]).toEqual(['b', undefined])
    await stream.push([b])
    expect([stream.take(), stream.stopped, stream.text]).toEqual(['', 'ab', 'abab'])
  })

  test('an unfinished character at the end is shown as what decode shows', async () => {
    const ids = (await tokenizer.encode('ab😀', { addSpecialTokens: false })).slice(0, -1)
    const stream = start({ skipSpecialTokens: true, stop: [] })
    for (const id of ids) await stream.push([id])
    expect(stream.take()).not.toContain('�')
    await stream.push([], { last: true })
    expect(stream.text).toBe(await tokenizer.decode(ids))
  })

  test('the first token of several that stop is where it ends, before the string that begins first', async () => {
    const tokens = await Promise.all(['a', 'b', '😀'].map(text => tokenizer.encode(text, { addSpecialTokens: false })))
    const stops = fc.array(fc.stringMatching(/^[ab😀]{1,4}$/u), { minLength: 1, maxLength: 3 })
    await fc.assert(
      fc.asyncProperty(fc.array(fc.constantFrom(...tokens), { maxLength: 30 }), stops, async (parts, stop) => {
        const ids = parts.flatMap(part => [...part])
        const plain = start({ skipSpecialTokens: true, stop: [] })
        const stream = start({ skipSpecialTokens: true, stop })
        let shown = ''
        for (const [i, id] of ids.entries()) {
          const last = i === ids.length - 1
          await plain.push([id], { last })
          await stream.push([id], { last })
          const part = stream.take({ last })
          expect(part).not.toMatch(/\p{Surrogate}/u)
          shown += part
          const ends = stop.map(one => plain.text.indexOf(one)).filter(at => at >= 0)
          if (ends.length === 0) continue
          expect(stream.text).toBe(plain.text.slice(0, Math.min(...ends)))
          expect(stream.stopped).toBe(stop.find(one => plain.text.startsWith(one, stream.text.length)))
          break
        }
        expect(shown).toBe(stream.text)
        if (stream.stopped === undefined) expect(shown).toBe(plain.text)
      }),
      { numRuns: 200 },
    )
  })
})

describe('stop strings in the engine', () => {
  let model: LocalModel<'language'>
  let engine: LocalEngine
  let promptIds: Int32Array
  beforeAll(async () => {
    const raw = {
      ...(await LocalModel.load(fixture('qwen2'), { role: 'language' }).then(loaded => {
        loaded.dispose()
        return loaded.config.raw
      })),
      vocab_size: tokenizer.vocabSize,
    }
    model = await LocalModel.create(parseConfig(raw, 'config.json'), { role: 'language', seed: 3 })
    engine = new LocalEngine(model, { tokenizer })
    promptIds = await tokenizer.encode('Tell me a story', { addSpecialTokens: false })
  })
  afterAll(async () => {
    await engine.close()
    model.dispose()
  })

  const sampling: SamplingParams = { seed: 4, maxNewTokens: 40, ignoreEos: true, text: 'with-special' }
  const run = async (change: Partial<SamplingParams>, id = 'x'): Promise<Sample> => {
    for await (const outcome of engine.generate([
      { id, promptId: 'x', promptIds, sampling: { ...sampling, ...change } },
    ]))
      return completed(outcome)
    throw new Error('no outcome')
  }

  test('ids up to and with the token that completed the string, text up to it', async () => {
    const free = await run({})
    expect(free.text).toBe(await tokenizer.decode(free.responseIds))
    // Text that begins inside one token and ends inside a later one.
    const before = await tokenizer.decode(free.responseIds.slice(0, 8))
    const after = await tokenizer.decode(free.responseIds.slice(0, 12))
    const stop = after.slice(before.length - 1, after.length - 1)
    const at = free.text!.indexOf(stop)
    const found = await run({ stop: ['never this', stop] })
    expect(found).toMatchObject({ finishReason: 'stop', stopReason: stop, text: free.text!.slice(0, at) })
    const count = found.responseIds.length
    expect([...found.responseIds]).toEqual([...free.responseIds.subarray(0, count)])
    expect(await tokenizer.decode(found.responseIds)).toContain(stop)
    expect(await tokenizer.decode(found.responseIds.slice(0, -1))).not.toContain(stop)
    const late = await run({ stop: [stop], minNewTokens: count + 5 })
    expect(late.responseIds.length).toBeGreaterThan(count)
  })

  /** A response whose tokens are listened to, and the text that came with them. */
  async function streamed(change: Partial<SamplingParams>): Promise<{ done: Sample; shown: string }> {
    let shown = ''
    const request = { id: 's', promptId: 'x', promptIds, sampling: { ...sampling, ...change } }
    const stream = engine.generate([request], { onToken: ({ text }) => (shown += text) })
    const done = completed((await stream.next()).value)
    return { done, shown }
  }

  test('streamed text is the final text; a stop id has no text of its own', async () => {
    const free = await run({})
    const stopId = free.responseIds[10]!
    const first = free.responseIds.indexOf(stopId)
    const { done, shown } = await streamed({ stopIds: [stopId] })
    expect(done.responseIds.at(-1)).toBe(stopId)
    expect(done.text).toBe(await tokenizer.decode(free.responseIds.slice(0, first)))
    expect(shown).toBe(done.text)
    expect((await run({ stopIds: [stopId] })).text).toBe(done.text)
  })

  test('what is held back for a stop string that never comes is shown at the end', async () => {
    const free = await run({})
    const { done, shown } = await streamed({ stop: ['never this, however long it takes'] })
    expect(done).toMatchObject({ finishReason: 'length', text: free.text })
    expect(shown).toBe(free.text)
  })
})
