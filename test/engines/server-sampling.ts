/** What a real server samples, stops at, refuses and ends early. */
import { describe, expect, test } from 'vitest'
import type { Outcome, Sample } from '../../src/rollout/index.js'
import { whileUnderWay } from '../support/generation.js'
import { collect, context, patiently, prompt, request, sampleOne, samples } from '../support/real-servers.js'
import type { RealSuite } from './real-suite.js'

export function describeSampling(suite: RealSuite): void {
  describe('sampling', () => {
    test('greedy tokens are ours', async () => {
      const generator = await suite.open(suite.a)
      for (const seed of [1, 2, 3]) {
        const sample = await sampleOne(generator, prompt(seed, 20), { temperature: 0, maxNewTokens: 40 })
        expect([...sample.responseIds]).toEqual(await suite.a.greedy(sample.promptIds, 40))
      }
    })

    test('n samples differ', async () => {
      const generator = await suite.open(suite.a)
      const found = await samples(generator, [request('n', { n: 16, firstSample: 3 })])
      expect(found.map(({ sample }) => sample).sort((x, y) => x - y)).toEqual(
        Array.from({ length: 16 }, (_, i) => i + 3),
      )
      expect(new Set(found.map(({ responseIds }) => responseIds.join())).size).toBe(16)
    })

    test('a stop id, a stop string, the end of sequence; and what is never sampled', async () => {
      const generator = await suite.open(suite.a)
      const promptIds = prompt(5, 10)
      const likeliest = await suite.a.greedy(promptIds, 30)
      const at = likeliest.findIndex((id, i) => i >= 4 && likeliest.indexOf(id) === i)
      const stopped = await sampleOne(generator, promptIds, { temperature: 0, stopIds: [likeliest[at]!] })
      expect([...stopped.responseIds]).toEqual(likeliest.slice(0, at + 1))
      expect(stopped).toMatchObject({ finishReason: 'stop', stopReason: likeliest[at] })

      const text = await suite.world.tokenizer.decode(likeliest.slice(0, 6))
      const stop = text.slice(-3)
      const cut = await sampleOne(generator, promptIds, { temperature: 0, stop: [stop], text: 'plain' })
      expect(cut).toMatchObject({ finishReason: 'stop', stopReason: stop })
      expect(cut.text).toBe(text.slice(0, text.indexOf(stop)))
      expect([...cut.responseIds]).toEqual(likeliest.slice(0, cut.responseIds.length))

      const { eosId } = suite.world.tokenizer
      const ended = await samples(generator, [
        request('eos', { n: 3, sampling: { ignoreEos: false, maxNewTokens: 200, temperature: 2 } }),
      ])
      for (const { responseIds, finishReason, stopReason } of ended) {
        expect(finishReason).toBe(responseIds.at(-1) === eosId ? 'stop' : 'length')
        expect(stopReason).toBeUndefined()
      }
      const without = await sampleOne(generator, promptIds, { temperature: 0, forbiddenIds: [likeliest[0]!] })
      expect([...without.responseIds]).not.toContain(likeliest[0])
      const late = await sampleOne(generator, promptIds, {
        ...{ temperature: 0, minNewTokens: at + 4, stopIds: [likeliest[at]!], maxNewTokens: at + 8 },
      })
      expect(late.responseIds.length).toBeGreaterThanOrEqual(at + 4)
    })

    test('what cannot be answered is that sample’s outcome; a context that is too short cuts', async () => {
      const generator = await suite.open(suite.a)
      const longest = generator.maxLength - 4
      const outcomes = await collect(
        generator.generate([
          request('long', { promptIds: prompt(1, context + 20) }),
          request('unknown', { promptIds: Int32Array.of(5, suite.world.vocabSize) }),
          request('negative', { promptIds: Int32Array.of(5, -1) }),
          request('empty', { promptIds: new Int32Array(0) }),
          request('cut', { promptIds: prompt(2, longest), sampling: { maxNewTokens: 50 } }),
        ]),
      )
      const byId = Object.fromEntries(outcomes.map(one => [one.requestId, one]))
      expect(byId).toMatchObject({
        long: { kind: 'rejected', reason: 'prompt-too-long' },
        unknown: { kind: 'rejected', reason: 'token-out-of-range' },
        negative: { kind: 'rejected', reason: 'token-out-of-range' },
        empty: { kind: 'rejected', reason: 'empty-prompt' },
      })
      const cut = byId.cut!
      // A prompt of all but a few tokens is too long for a server that keeps some to itself.
      if (cut.kind === 'completed') {
        expect(cut.finishReason).toBe('length')
        expect(cut.responseIds).toHaveLength(4)
      } else expect(cut).toMatchObject({ reason: 'prompt-too-long' })
      expect((await sampleOne(generator, prompt(1), {})).responseIds).toHaveLength(24)
    })

    test('leaving early ends the work on the server', async () => {
      const generator = await suite.open(suite.a)
      const busy = request('busy', { n: 64, sampling: { maxNewTokens: 230 } })
      /** Samples under way by the server's own account; undefined: they were over before it said so. */
      const begun = async (): Promise<
        { stream: AsyncIterator<Outcome>; first: Promise<IteratorResult<Outcome>> } | undefined
      > => {
        const stream = generator.generate([busy])
        let isOver = false
        const first = stream.next().finally(() => {
          isOver = true
        })
        while (!isOver) if ((await suite.real.running(suite.engine.url)) > 0) return { stream, first }
        await stream.return!()
        await first
        await expect.poll(() => generator.counts, patiently).toMatchObject({ running: 0, waiting: 0 })
        return undefined
      }
      const left = await whileUnderWay(begun)
      await left.stream.return!()
      await left.first
      await expect.poll(() => suite.real.running(suite.engine.url), patiently).toBe(0)
      // Its name is free when the last of its samples has ended here too.
      await expect.poll(() => generator.counts, patiently).toMatchObject({ running: 0, waiting: 0 })
      const aborted = await whileUnderWay(async () => {
        const under = await begun()
        generator.abort('busy')
        if (!under) return undefined
        const found = [(await under.first).value as Sample]
        for (let next = await under.stream.next(); !next.done; next = await under.stream.next())
          found.push(next.value as Sample)
        return found[0]!.finishReason === 'abort' ? found : undefined
      })
      expect(aborted).toHaveLength(64)
      await expect.poll(() => suite.real.running(suite.engine.url), patiently).toBe(0)
      for (const sample of aborted) await suite.check(suite.a, sample)
    })

    test('samples of one prompt share its keys and values on the server', async () => {
      const generator = await suite.open(suite.a)
      const before = await suite.real.cachedTokens(suite.engine.url)
      await samples(generator, [request('prefix', { promptIds: prompt(9, 160), n: 1 })])
      await samples(generator, [request('prefix', { promptIds: prompt(9, 160), n: 3 })])
      await expect
        .poll(async () => (await suite.real.cachedTokens(suite.engine.url)) - before, patiently)
        .toBeGreaterThanOrEqual(3 * 128)
    })

    test('held to a regular expression, a schema, a grammar', async () => {
      const generator = await suite.open(suite.a)
      expect(generator.capabilities.structured).toEqual(expect.arrayContaining(['regex', 'json-schema', 'ebnf']))
      const say = async (sampling: Parameters<typeof sampleOne>[2]): Promise<string> =>
        (await sampleOne(generator, prompt(4), { text: 'plain', ignoreEos: false, maxNewTokens: 120, ...sampling }))
          .text!
      expect(await say({ structured: { kind: 'regex', pattern: '[0-9]{3}-[a-f]{2}' } })).toMatch(/^[0-9]{3}-[a-f]{2}$/)
      expect(await say({ structured: { kind: 'ebnf', grammar: 'root ::= "yes" | "no"\n' } })).toMatch(/^(yes|no)$/)
      const properties = { colour: { enum: ['red', 'green'] }, sure: { type: 'boolean' } }
      const schema = { type: 'object', properties, required: ['colour', 'sure'], additionalProperties: false }
      // White space may go on for ever; of several answers some end.
      const sampling = {
        structured: { kind: 'json-schema', schema },
        text: 'plain',
        ignoreEos: false,
        maxNewTokens: 200,
      } as const
      const objects = (await samples(generator, [request('json', { n: 8, sampling })])).filter(
        ({ finishReason }) => finishReason === 'stop',
      )
      expect(objects).not.toHaveLength(0)
      for (const { text } of objects)
        expect(JSON.parse(text!)).toEqual({ colour: expect.stringMatching(/^(red|green)$/), sure: expect.any(Boolean) })
      const [bad] = await collect(
        generator.generate([request('bad', { sampling: { structured: { kind: 'regex', pattern: '(' } } })]),
      )
      expect(bad).toMatchObject({ kind: 'failed', reason: 'engine', message: expect.stringMatching(/regex/i) })
    })
  })
}
