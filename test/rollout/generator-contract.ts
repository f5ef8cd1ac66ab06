/** What every `Generator` promises, as tests: run for each implementation, the doubles of the tests included. */
import { setTimeout as delay } from 'node:timers/promises'
import { afterEach, describe, expect, test } from 'vitest'
import type { PolicyVersion } from '../../src/model/index.js'
import {
  type GenerateOptions,
  type GenerationRequest,
  type Generator,
  logprobsUnder,
  type Outcome,
  resolveSampling,
  type Sample,
  type WeightsUpdate,
} from '../../src/rollout/index.js'
import { completed, whileUnderWay } from '../support/generation.js'

/**
 * `make` answers with a fresh generator that never ends a response by itself before `maxNewTokens`. `update`: how it is given
 * weights of a version, where a version alone does not say it. `seeds`: `ignored` by a server whose samples are no function of them.
 * `settleMs`: how long tokens that were sampled before a pause may take to arrive after it. `attempts`: how often a test is repeated
 * whose requests a real server finished before the next one, or an abort, reached it.
 */
export function generatorContract(
  name: string,
  make: () => Promise<Generator>,
  {
    update = version => ({ version }),
    seeds = 'kept',
    settleMs = 0,
    attempts = 1,
  }: {
    update?: (version: PolicyVersion) => WeightsUpdate
    seeds?: 'kept' | 'ignored'
    settleMs?: number
    attempts?: number
  } = {},
): void {
  describe(`${name} keeps the contract of generators`, () => {
    const made: Generator[] = []
    const open = async (): Promise<Generator> => {
      const generator = await make()
      made.push(generator)
      return generator
    }
    afterEach(async () => {
      for (const generator of made.splice(0)) await generator.close()
    })

    const request = (id: string, given: Partial<GenerationRequest> & { most?: number } = {}): GenerationRequest => {
      const { most = 5, ...rest } = given
      const sampling = { seed: 1, maxNewTokens: most, ignoreEos: true }
      return { id, promptIds: Int32Array.of(5, 6, 7 + (id.length % 3)), sampling, ...rest }
    }
    const collect = async (stream: AsyncIterable<Outcome>): Promise<Outcome[]> => {
      const outcomes: Outcome[] = []
      for await (const outcome of stream) outcomes.push(outcome)
      return outcomes
    }
    const idle = async (generator: Generator): Promise<void> => {
      await expect.poll(() => generator.counts, { timeout: 300_000 }).toMatchObject({ running: 0, waiting: 0 })
    }
    const names = (outcomes: readonly Outcome[]): string[] =>
      outcomes.map(({ requestId, sample }) => `${requestId}/${sample}`).sort()

    test('one outcome for every sample, each saying what was seen and said', async () => {
      const generator = await open()
      const requests = [request('a', { n: 3 }), request('b', { most: 2, firstSample: 7, promptId: 'p' }), request('c')]
      const outcomes = await collect(generator.generate(requests))
      expect(names(outcomes)).toEqual(['a/0', 'a/1', 'a/2', 'b/7', 'c/0'])
      for (const outcome of outcomes) {
        const sample = completed(outcome)
        const asked = requests.find(({ id }) => id === sample.requestId)!
        const { length } = sample.responseIds
        expect([...sample.promptIds]).toEqual([...asked.promptIds])
        expect(sample).toMatchObject({ promptId: asked.promptId ?? asked.id, seed: 1, finishReason: 'length' })
        expect(length).toBe(asked.sampling.maxNewTokens)
        expect(sample.versions).toEqual([{ version: generator.policyVersion, start: 0, end: length }])
        expect(sample.policyVersion).toBe(generator.policyVersion)
        const meanings = Object.keys(sample.logprobs)
        const sampling = resolveSampling(asked.sampling, { vocabSize: generator.vocabSize, n: 1 })
        expect(logprobsUnder(generator.capabilities.logprobs, sampling)).toEqual(expect.arrayContaining(meanings))
        expect(meanings).not.toHaveLength(0)
        for (const values of Object.values(sample.logprobs)) expect(values).toHaveLength(length)
      }
      expect(generator.counts.generatedTokens).toBe(3 * 5 + 2 + 5)
    })

    test('outcomes come in the order of finishing, and of an asynchronous source too', async () => {
      const generator = await open()
      async function* source(): AsyncGenerator<GenerationRequest> {
        yield request('long', { most: 200 })
        await Promise.resolve()
        yield request('short', { most: 2 })
      }
      await whileUnderWay(async () => {
        const outcomes = await collect(generator.generate(source()))
        const order = outcomes.map(({ requestId }) => requestId)
        expect(order.toSorted()).toEqual(['long', 'short'])
        return order[0] === 'short' || undefined
      }, attempts)
    })

    test('a prompt and its response have maxLength tokens together at most, of a known vocabulary', async () => {
      const generator = await open()
      const [outcome] = await collect(generator.generate([request('a', { most: 1e6 })]))
      const { promptIds, responseIds, finishReason } = completed(outcome)
      expect(promptIds.length + responseIds.length).toBe(generator.maxLength)
      expect(finishReason).toBe('length')
      expect(responseIds.every(id => id >= 0 && id < generator.vocabSize)).toBe(true)
    })

    test('no requests, no outcomes', async () => {
      const generator = await open()
      expect(await collect(generator.generate([]))).toEqual([])
    })

    test('tokens come as they are sampled', async () => {
      const generator = await open()
      if (!generator.capabilities.tokens) return
      const seen: number[] = []
      const onToken: GenerateOptions['onToken'] = ({ id }) => seen.push(id)
      const [outcome] = await collect(generator.generate([request('a', { most: 9 })], { onToken }))
      expect(seen).toEqual([...completed(outcome).responseIds])
    })

    test('a source of very many is pulled as there is room, and ended by whoever leaves', async () => {
      const generator = await open()
      let pulled = 0
      let returned = false
      function* source(): Generator_<GenerationRequest> {
        try {
          for (; pulled < 1e6; ) yield request(`r${pulled++}`, { most: 1 })
        } finally {
          returned = true
        }
      }
      const stream = generator.generate(source())
      await expect.poll(() => generator.counts.generatedTokens, { timeout: 300_000 }).toBeGreaterThan(0)
      await idle(generator)
      // Nobody reads: it was pulled as far as there is room, and no further.
      const before = pulled
      expect(before).toBeLessThan(2000)
      await delay(20)
      expect(pulled).toBe(before)
      let read = 0
      for await (const outcome of stream) {
        completed(outcome)
        if (++read === 20) break
      }
      expect(pulled - before).toBeLessThan(2000)
      expect(returned).toBe(true)
      await idle(generator)
    })

    test('everything of a source longer than there is room for', async () => {
      const generator = await open()
      const source = async function* (): AsyncGenerator<GenerationRequest> {
        for (let i = 0; i < 700; i++) yield request(`r${i}`, { most: 1 })
      }
      expect(new Set(names(await collect(generator.generate(source())))).size).toBe(700)
    })

    test('a source that throws ends the iteration with its error, and what is under way', async () => {
      const generator = await open()
      function* source(): Generator_<GenerationRequest> {
        yield request('a', { most: 200 })
        throw new Error('the file ends here')
      }
      await expect(collect(generator.generate(source()))).rejects.toThrow('the file ends here')
      await idle(generator)
      const read = signalled()
      async function* late(): AsyncGenerator<GenerationRequest> {
        yield request('b', { most: 2 })
        await read.promise
        throw new Error('and here')
      }
      const stream = generator.generate(late())
      expect(completed((await stream.next()).value).requestId).toBe('b')
      read.resolve()
      await expect(stream.next()).rejects.toThrow('and here')
      expect((await stream.next()).done).toBe(true)
    })

    test('abort ends one request with what it has, abortAll the others', async () => {
      const generator = await open()
      const [whole] = await collect(generator.generate([request('a', { most: 200 })]))
      await whileUnderWay(async () => {
        const stream = generator.generate(['a', 'b', 'c'].map(id => request(id, { most: 200 })))
        generator.abort('nobody')
        generator.abort('a')
        const first = completed((await stream.next()).value)
        expect(first).toMatchObject({ requestId: 'a', finishReason: 'abort' })
        const begun = completed(whole).responseIds.subarray(0, first.responseIds.length)
        if (seeds === 'kept') expect([...first.responseIds]).toEqual([...begun])
        generator.abortAll()
        const rest = (await collect(stream)).map(completed)
        return rest.every(({ finishReason }) => finishReason === 'abort') || undefined
      }, attempts)
    })

    test('leaving early cancels the rest', async () => {
      const generator = await open()
      for await (const outcome of generator.generate([request('a'), request('b', { n: 3, most: 200 })])) {
        completed(outcome)
        break
      }
      await idle(generator)
    })

    test('a signal ends what is under way with what it has', async () => {
      const generator = await open()
      await whileUnderWay(async () => {
        const stop = new AbortController()
        const samples: Sample[] = []
        const requests = [request('a', { most: 1 }), request('b', { most: 200, n: 2 })]
        for await (const outcome of generator.generate(requests, { signal: stop.signal })) {
          samples.push(completed(outcome))
          stop.abort(new Error('enough'))
        }
        await expect(collect(generator.generate(requests, { signal: stop.signal }))).rejects.toThrow('enough')
        await idle(generator)
        const reasons = samples.map(({ finishReason }) => finishReason)
        if (attempts > 1 && reasons.slice(1).includes('length')) return undefined
        expect(reasons).toEqual(['length', 'abort', 'abort'])
        return 'tested'
      }, attempts)
    })

    test('nothing is computed between pause and resume', async () => {
      const generator = await open()
      const begun = signalled()
      const collecting = collect(generator.generate([request('a', { most: 200 })], { onToken: begun.resolve }))
      await begun.promise
      await generator.pause()
      await generator.pause()
      const generatedTokens = await settled(() => generator.counts.generatedTokens, settleMs)
      generator.resume()
      await delay(20)
      expect(generator.counts.generatedTokens).toBe(generatedTokens)
      generator.resume()
      expect(completed((await collecting)[0]).responseIds).toHaveLength(200)
    })

    test('new weights stamp their version on every later token', async () => {
      const generator = await open()
      await whileUnderWay(async () => {
        const begun = signalled()
        const collecting = collect(generator.generate([request('a', { most: 200 })], { onToken: begun.resolve }))
        await begun.promise
        await generator.pause()
        const before = generator.policyVersion
        await generator.updateWeights(update(before + 5))
        generator.resume()
        const { versions, policyVersion } = completed((await collecting)[0])
        expect(policyVersion).toBe(before)
        expect(generator.policyVersion).toBe(before + 5)
        const border = versions[0]!.end
        if (border === 200) return undefined
        expect(versions).toEqual([
          { version: before, start: 0, end: border },
          { version: before + 5, start: border, end: 200 },
        ])
        return 'tested'
      })
    })

    test('asleep it waits, awake it goes on', async () => {
      const generator = await open()
      const [whole] = await collect(generator.generate([request('a', { most: 60 })]))
      const collecting = collect(generator.generate([request('a', { most: 60 })]))
      await generator.sleep()
      const { generatedTokens } = generator.counts
      await delay(20)
      expect(generator.counts.generatedTokens).toBe(generatedTokens)
      await generator.wake()
      const { responseIds } = completed((await collecting)[0])
      expect(responseIds).toHaveLength(60)
      if (seeds === 'kept') expect([...responseIds]).toEqual([...completed(whole).responseIds])
    })

    test('asleep it refuses a new call, and says to wake it', async () => {
      const generator = await open()
      await generator.sleep()
      await expect(collect(generator.generate([request('a')]))).rejects.toThrow(/asleep.*wake\(\)/)
      await generator.wake()
      expect(await collect(generator.generate([request('a')]))).toHaveLength(1)
    })

    test('several calls at once get what is theirs', async () => {
      const generator = await open()
      const calls = ['a', 'b', 'c'].map(id =>
        collect(generator.generate([request(id, { n: 2 }), request(`${id}${id}`)])),
      )
      const found = await Promise.all(calls)
      expect(found.map(names)).toEqual(['a', 'b', 'c'].map(id => [`${id}/0`, `${id}/1`, `${id}${id}/0`]))
    })

    test('an id in flight is refused; one that has ended may come again', async () => {
      const generator = await open()
      const first = generator.generate([request('a', { most: 100 })])
      await expect(collect(generator.generate([request('a')]))).rejects.toThrow(/in flight/)
      expect(completed((await first.next()).value).finishReason).toBe('length')
      const again = generator.generate([request('a')])
      expect((await first.next()).done).toBe(true)
      expect(await collect(again)).toHaveLength(1)
    })

    test('a parameter that means nothing is a RangeError; a prompt that cannot be answered an outcome', async () => {
      const generator = await open()
      for (const bad of [{ temperature: -1 }, { topP: 0 }, { maxNewTokens: 0 }, { seed: 0.5 }]) {
        const { sampling, ...rest } = request('a')
        const stream = generator.generate([{ ...rest, sampling: { ...sampling, ...bad } }])
        await expect(collect(stream), JSON.stringify(bad)).rejects.toThrow(RangeError)
      }
      const pixels = { kind: 'image', hash: '', frames: new Uint8Array(0), grid: [1, 1, 1] } as const
      const media = [{ pixels, runs: [{ start: 0, count: 1 }] }]
      const outcomes = await collect(
        generator.generate([
          request('none', { promptIds: new Int32Array(0) }),
          ...(generator.capabilities.media ? [] : [request('seen', { media, n: 2 })]),
          request('fine'),
        ]),
      )
      const kinds = outcomes.map(outcome => [
        `${outcome.requestId}/${outcome.sample}`,
        outcome.kind === 'completed' ? outcome.kind : outcome.reason,
      ])
      expect(Object.fromEntries(kinds)).toEqual({
        'none/0': 'empty-prompt',
        ...(generator.capabilities.media ? {} : { 'seen/0': 'media-unsupported', 'seen/1': 'media-unsupported' }),
        'fine/0': 'completed',
      })
    })

    test('closing ends what is under way, and takes no more', async () => {
      const generator = await open()
      const collecting = collect(generator.generate([request('a', { most: 200, n: 2 })]))
      await generator.close()
      expect((await collecting).map(outcome => completed(outcome).finishReason)).toEqual(['abort', 'abort'])
      await expect(collect(generator.generate([request('b')]))).rejects.toThrow('closed')
      await generator.close()
    })
  })
}

/** A count when it has not changed for so long. */
async function settled(count: () => number, quietMs: number): Promise<number> {
  for (let last = count(); ; last = count()) {
    await delay(quietMs)
    if (count() === last) return last
  }
}

/** A promise, and what resolves it. */
function signalled(): { promise: Promise<void>; resolve: () => void } {
  let resolve: () => void = () => {}
  const promise = new Promise<void>(done => {
    resolve = done
  })
  return { promise, resolve }
}

/** The language's own; the contract has taken its name. */
type Generator_<T> = Iterable<T> & Iterator<T>
