/** What a real server must do through our client, whichever it is: compared with our own model and engine, token by token. */
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import type { EngineType, StartedEngine } from '../../src/launch/index.js'
import {
  EngineError,
  type EngineEvent,
  type GenerationRequest,
  type Generator,
  LocalEngine,
  type Outcome,
  type RemoteOptions,
  type Sample,
} from '../../src/rollout/index.js'
import { generatorContract } from '../rollout/generator-contract.js'
import { whileUnderWay } from '../support/generation.js'
import {
  type AdapterModel,
  collect,
  context,
  largestDifference,
  patiently,
  prompt,
  request,
  sampleOne,
  samples,
  startMs,
  type TinyModel,
  World,
} from '../support/real-servers.js'

export interface RealEngine {
  readonly type: EngineType
  readonly connect: (options: RemoteOptions) => Promise<Generator>
  /** Requests that generate on the server, by its own account. */
  readonly running: (url: string) => Promise<number>
  /** The adapters it has. */
  readonly adapters: (url: string) => Promise<string[]>
  /** Prompt tokens that it found in its cache since it was started. */
  readonly cachedTokens: (url: string) => Promise<number>
  readonly flags?: readonly string[]
  /** Whether it can give the memory of weights back. */
  readonly sleeps: boolean
  /** Whether a seed makes its samples the same again. */
  readonly seeds: 'kept' | 'ignored'
  /** Whether it says the rank of a token that is not among the likeliest; else it counts as the first after them. */
  readonly ranks: 'all' | 'likeliest'
  /** Tests of this server alone, with the same models. */
  readonly further?: (suite: Suite) => void
}

export interface Suite {
  readonly world: World
  readonly url: string
  readonly a: TinyModel
  readonly b: TinyModel
  /** A generator over the server with these weights. */
  open(model: TinyModel, options?: Partial<RemoteOptions>): Promise<Generator>
  /** Other weights for it, with their proof. */
  give(generator: Generator, model: TinyModel): Promise<void>
}

const tolerance = 1e-4

export function describeRealEngine(real: RealEngine): void {
  const { type, connect, running, adapters, cachedTokens, flags, sleeps, seeds, ranks, further } = real
  let world: World
  let engine: StartedEngine
  let a: TinyModel
  let b: TinyModel
  let adapted: AdapterModel[]
  /** What the server has, and how often it was given something. */
  let loaded: TinyModel
  let version = 0
  const made: Generator[] = []
  const events: EngineEvent[] = []

  beforeAll(async () => {
    world = await World.make()
    a = await world.model('a', { seed: 1 })
    b = await world.model('b', { seed: 2 })
    adapted = [await world.adapter('c', a, 3), await world.adapter('d', a, 4)]
    engine = await world.start(type, a, { loraRank: 4, ...(flags ? { flags } : {}) })
    loaded = a
  })
  afterAll(() => world?.close())
  afterEach(async () => {
    for (const generator of made.splice(0)) await generator.close()
    events.length = 0
  })

  const connected = async (options: Partial<RemoteOptions> = {}): Promise<Generator> => {
    const { tokenizer, vocabSize } = world
    const onEvent = (event: EngineEvent) => events.push(event)
    const patienceMs = startMs
    const generator = await connect({
      ...{ urls: [engine.url], vocabSize, tokenizer, version, patienceMs, onEvent },
      ...options,
    })
    made.push(generator)
    return generator
  }
  const give: Suite['give'] = async (generator, model) => {
    loaded = model
    version = Math.max(version, generator.policyVersion) + 1
    await generator.updateWeights({ version, directory: model.directory, proof: await model.proof() })
  }
  const open: Suite['open'] = async (model, options) => {
    const generator = await connected(options)
    if (loaded !== model) await give(generator, model)
    return generator
  }

  generatorContract(
    `${type} on this machine`,
    async () => {
      return connect({ urls: [engine.url], vocabSize: world.vocabSize, version: ++version })
    },
    {
      seeds,
      // Through the server's other processes and the network.
      settleMs: 3000,
      attempts: 20,
      update: next => {
        loaded = b
        version = next
        return { version: next, directory: b.directory }
      },
    },
  )

  /** Each token's own, by our model, of the distribution that the sample says its numbers mean. */
  async function check(model: TinyModel, sample: Sample, temperature = 1): Promise<void> {
    const ids = [...sample.promptIds, ...sample.responseIds]
    const from = sample.promptIds.length - 1
    const { raw, processed } = sample.logprobs
    if (raw) expect(largestDifference(raw, (await model.score(ids)).subarray(from))).toBeLessThan(tolerance)
    if (processed)
      expect(largestDifference(processed, (await model.score(ids, temperature || 1)).subarray(from))).toBeLessThan(
        tolerance,
      )
    expect(Object.keys(sample.logprobs).length).toBeGreaterThan(0)
  }

  describe('log-probabilities are ours', () => {
    test.each([0, 1, 0.7, 1.5])('temperature %d', async temperature => {
      const generator = await open(a)
      const found = await samples(generator, [
        ...Array.from({ length: 6 }, (_, i) =>
          request(`r${i}`, { promptIds: prompt(i, 5 + 9 * i), n: 2, sampling: { temperature, maxNewTokens: 60 } }),
        ),
      ])
      for (const sample of found) await check(a, sample, temperature)
    })

    test('of what was drawn, among the likeliest alone', async () => {
      const generator = await open(a)
      const [temperature, topK] = [0.8, 20]
      const sampling = { temperature, topK, maxNewTokens: 60 }
      const ours = new LocalEngine(a.model)
      for (const sample of await samples(generator, [request('k', { n: 4, sampling })])) {
        const ids = Int32Array.of(...sample.promptIds, ...sample.responseIds)
        const { promptLogprobs } = await sampleOne(ours, ids, { promptLogprobs: topK, maxNewTokens: 1 })
        const first = sample.promptIds.length - 1
        const raw = promptLogprobs!.logprobs.subarray(first)
        const renormalised = promptLogprobs!.top.slice(first).map(({ ids, logprobs }, i) => {
          expect([...ids]).toContain(sample.responseIds[i])
          return raw[i]! / temperature - Math.log(logprobs.reduce((sum, one) => sum + Math.exp(one / temperature), 0))
        })
        if (sample.logprobs.processed)
          expect(largestDifference(sample.logprobs.processed, renormalised)).toBeLessThan(tolerance)
        if (sample.logprobs.raw) expect(largestDifference(sample.logprobs.raw, raw)).toBeLessThan(tolerance)
        // What SGLang gives lies between the two, and is called neither.
        if (generator.capabilities.logprobs.includes('scaled')) expect(sample.logprobs).toEqual({})
      }
      await ours.close()
    })

    test('of a prompt, and of the likeliest tokens', async () => {
      const generator = await open(a)
      const promptIds = prompt(3, 40)
      const sampling = { promptLogprobs: 3, topLogprobs: 3, maxNewTokens: 8 }
      const ours = new LocalEngine(a.model)
      const theirs = await sampleOne(generator, promptIds, sampling)
      expect(largestDifference(theirs.promptLogprobs!.logprobs, await a.score(promptIds))).toBeLessThan(tolerance)
      const whole = Int32Array.of(...promptIds, ...theirs.responseIds)
      const expected = (await sampleOne(ours, whole, { promptLogprobs: 3, maxNewTokens: 1 })).promptLogprobs!.top
      const found = [...theirs.promptLogprobs!.top, ...theirs.topLogprobs!]
      for (const [i, { ids, logprobs, rank }] of found.entries()) {
        expect([...ids], `position ${i}`).toEqual([...expected[i]!.ids])
        expect(largestDifference(logprobs, expected[i]!.logprobs)).toBeLessThan(tolerance)
        expect(rank).toBe(ranks === 'all' ? expected[i]!.rank : Math.min(expected[i]!.rank, 4))
      }
      await ours.close()
    })

    test('the first token at its own temperature', async () => {
      const generator = await open(a)
      const found = await samples(generator, [
        request('fire', { n: 4, sampling: { firstTemperature: 0, maxNewTokens: 20 } }),
      ])
      const [likeliest] = await a.greedy(found[0]!.promptIds, 1)
      for (const sample of found) {
        expect(sample.responseIds[0]).toBe(likeliest)
        expect(sample.responseIds).toHaveLength(20)
        await check(a, sample)
      }
      expect(new Set(found.map(({ responseIds }) => responseIds.join())).size).toBe(4)
    })
  })

  describe('sampling', () => {
    test('greedy tokens are ours', async () => {
      const generator = await open(a)
      for (const seed of [1, 2, 3]) {
        const sample = await sampleOne(generator, prompt(seed, 20), { temperature: 0, maxNewTokens: 40 })
        expect([...sample.responseIds]).toEqual(await a.greedy(sample.promptIds, 40))
      }
    })

    test('n samples differ', async () => {
      const generator = await open(a)
      const found = await samples(generator, [request('n', { n: 16, firstSample: 3 })])
      expect(found.map(({ sample }) => sample).sort((x, y) => x - y)).toEqual(
        Array.from({ length: 16 }, (_, i) => i + 3),
      )
      expect(new Set(found.map(({ responseIds }) => responseIds.join())).size).toBe(16)
    })

    test('a stop id, a stop string, the end of sequence; and what is never sampled', async () => {
      const generator = await open(a)
      const promptIds = prompt(5, 10)
      const likeliest = await a.greedy(promptIds, 30)
      const at = likeliest.findIndex((id, i) => i >= 4 && likeliest.indexOf(id) === i)
      const stopped = await sampleOne(generator, promptIds, { temperature: 0, stopIds: [likeliest[at]!] })
      expect([...stopped.responseIds]).toEqual(likeliest.slice(0, at + 1))
      expect(stopped).toMatchObject({ finishReason: 'stop', stopReason: likeliest[at] })

      const text = await world.tokenizer.decode(likeliest.slice(0, 6))
      const stop = text.slice(-3)
      const cut = await sampleOne(generator, promptIds, { temperature: 0, stop: [stop], text: 'plain' })
      expect(cut).toMatchObject({ finishReason: 'stop', stopReason: stop })
      expect(cut.text).toBe(text.slice(0, text.indexOf(stop)))
      expect([...cut.responseIds]).toEqual(likeliest.slice(0, cut.responseIds.length))

      const { eosId } = world.tokenizer
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
      const generator = await open(a)
      const longest = generator.maxLength - 4
      const outcomes = await collect(
        generator.generate([
          request('long', { promptIds: prompt(1, context + 20) }),
          request('unknown', { promptIds: Int32Array.of(5, world.vocabSize) }),
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
      const generator = await open(a)
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
        while (!isOver) if ((await running(engine.url)) > 0) return { stream, first }
        await stream.return!()
        await first
        await expect.poll(() => generator.counts, patiently).toMatchObject({ running: 0, waiting: 0 })
        return undefined
      }
      const left = await whileUnderWay(begun)
      await left.stream.return!()
      await left.first
      await expect.poll(() => running(engine.url), patiently).toBe(0)
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
      await expect.poll(() => running(engine.url), patiently).toBe(0)
      for (const sample of aborted) await check(a, sample)
    })

    test('samples of one prompt share its keys and values on the server', async () => {
      const generator = await open(a)
      const before = await cachedTokens(engine.url)
      await samples(generator, [request('prefix', { promptIds: prompt(9, 160), n: 1 })])
      await samples(generator, [request('prefix', { promptIds: prompt(9, 160), n: 3 })])
      await expect
        .poll(async () => (await cachedTokens(engine.url)) - before, patiently)
        .toBeGreaterThanOrEqual(3 * 128)
    })

    test('held to a regular expression, a schema, a grammar', async () => {
      const generator = await open(a)
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

  describe('weights', () => {
    const answers = async (generator: Generator, model: TinyModel): Promise<void> => {
      for (const seed of [11, 12]) {
        const sample = await sampleOne(generator, prompt(seed, 140), { temperature: 0, maxNewTokens: 50 })
        expect([...sample.responseIds]).toEqual(await model.greedy(sample.promptIds, 50))
        expect(sample.policyVersion).toBe(generator.policyVersion)
        await check(model, sample, 0)
      }
    }

    test('of a directory: greedy tokens are those of the new model, whatever was in the cache', async () => {
      const generator = await open(a, { modelDirectory: a.directory })
      await answers(generator, a)
      await give(generator, b)
      expect(generator.policyVersion).toBe(version)
      await answers(generator, b)
      await give(generator, a)
      await answers(generator, a)
      expect(events.filter(({ kind }) => kind === 'proved')).not.toHaveLength(0)
    })

    /** Answers when some tokens have come, or all of them. */
    const underWay = async (
      generator: Generator,
      asked: GenerationRequest,
    ): Promise<{ readonly collecting: Promise<Outcome[]> }> => {
      let collecting: Promise<Outcome[]> = Promise.resolve([])
      await new Promise<void>((resolve, reject) => {
        let seen = 0
        const onToken = (): void => {
          if (++seen > 20) resolve()
        }
        collecting = collect(generator.generate([asked], { onToken }))
        collecting.then(() => resolve(), reject)
      })
      return { collecting }
    }

    test('a request that runs meanwhile goes on with the new ones, from a border that its versions name', async () => {
      const generator = await open(a)
      const { before, found } = await whileUnderWay(async () => {
        if (loaded !== a) await give(generator, a)
        const before = generator.policyVersion
        const asked = request('over', { n: 8, sampling: { maxNewTokens: 220 } })
        const { collecting } = await underWay(generator, asked)
        await generator.pause()
        await give(generator, b)
        generator.resume()
        const found = (await collecting) as Sample[]
        return found.some(({ versions }) => versions.length > 1) ? { before, found } : undefined
      })
      for (const sample of found) {
        const [first, second = { ...first!, start: first!.end }, ...others] = sample.versions
        expect(others).toEqual([])
        expect([first!.start, first!.end, second.end]).toEqual([0, second.start, 220])
        const ids = [...sample.promptIds, ...sample.responseIds]
        const from = sample.promptIds.length - 1
        const values = sample.logprobs.processed ?? sample.logprobs.raw!
        for (const { version: made, start, end } of sample.versions) {
          expect([before, version]).toContain(made)
          const scored = (await (made === before ? a : b).score(ids)).subarray(from)
          expect(largestDifference(values.subarray(start, end), scored.subarray(start, end))).toBeLessThan(tolerance)
        }
      }
    })

    test('a client that comes later does not mistake the server’s names for its own', async () => {
      await whileUnderWay(async () => {
        const first = await open(a)
        await give(first, b)
        const taken = version
        await first.close()
        const generator = await connected({ version: 0 })
        const asked = request('again', { sampling: { maxNewTokens: 220 } })
        const { collecting } = await underWay(generator, asked)
        await generator.updateWeights({ version: taken, directory: a.directory, proof: await a.proof() })
        loaded = a
        const { versions } = (await collecting)[0] as Sample
        await generator.close()
        expect([[0], [0, taken]]).toContainEqual(versions.map(span => span.version))
        return versions.length > 1 ? 'tested' : undefined
      })
    })

    test('of an adapter: the merged model’s; another; and without', async () => {
      const generator = await open(a)
      expect(generator.capabilities.weights).toContain('adapter')
      for (const one of adapted) {
        const { adapter } = one
        await generator.updateWeights({ version: ++version, adapter, proof: await one.proof() })
        await answers(generator, one)
        await expect.poll(() => adapters(engine.url), patiently).toEqual([expect.stringMatching(`^policy@${version}-`)])
      }
      await give(generator, a)
      await answers(generator, a)
      await expect.poll(() => adapters(engine.url), patiently).toEqual([])
    })

    test('that cannot be loaded: the server’s words, and the next good ones are taken', async () => {
      const generator = await open(a)
      const samplesBefore = samples(generator, [request('long', { n: 4, sampling: { maxNewTokens: 200 } })])
      const nowhere = join(world.folder, 'nowhere')
      const failed = generator.updateWeights({ version: ++version, directory: nowhere })
      await expect(failed).rejects.toThrow(EngineError)
      await expect(failed).rejects.toThrow(/loading the weights.*nowhere/)
      mkdirSync(nowhere, { recursive: true })
      await expect(generator.updateWeights({ version: ++version, directory: nowhere })).rejects.toThrow(EngineError)
      await give(generator, b)
      await answers(generator, b)
      expect((await samplesBefore).map(({ responseIds }) => responseIds.length)).toEqual([200, 200, 200, 200])
    })

    test('of another shape are refused before the server sees them', async () => {
      const generator = await open(a, { modelDirectory: a.directory })
      const tied = await world.model(`tied-${version}`, { seed: 9, tied: true })
      const update = generator.updateWeights({ version: version + 1, directory: tied.directory })
      await expect(update).rejects.toThrow(/lm_head/)
      await answers(generator, a)
    })

    test('a proof of other weights is not believed', async () => {
      const generator = await open(a)
      const update = generator.updateWeights({ version: ++version, directory: b.directory, proof: await a.proof() })
      await expect(update).rejects.toThrow(/gives other log-probabilities/)
      await give(generator, b)
      await answers(generator, b)
    })

    test('an adapter over other base weights than the server has is not believed', async () => {
      const generator = await open(b)
      const [{ adapter, proof }] = adapted as [AdapterModel]
      const update = generator.updateWeights({ version: ++version, adapter, proof: await proof() })
      await expect(update).rejects.toThrow(/gives other log-probabilities/)
      await expect(update).rejects.toMatchObject({
        remedy: expect.stringContaining('the directory that `model` names'),
      })
      await give(generator, b)
      await answers(generator, b)
    })

    test('asleep nothing is generated; awake it goes on, with weights that came meanwhile', async () => {
      const generator = await open(a)
      expect(generator.capabilities.sleep).toBe(sleeps)
      const collecting = samples(generator, [request('nap', { n: 2, sampling: { maxNewTokens: 150 } })])
      await generator.sleep()
      await give(generator, b)
      await expect.poll(() => running(engine.url), patiently).toBe(0)
      await generator.wake()
      for (const { responseIds } of await collecting) expect(responseIds).toHaveLength(150)
      await answers(generator, b)
    })
  })

  further?.({
    get world() {
      return world
    },
    get url() {
      return engine.url
    },
    get a() {
      return a
    },
    get b() {
      return b
    },
    open,
    give,
  })

  test('a server that is killed and started again costs time and nothing else', async () => {
    const generator = await connected()
    // Weights that it was given by this client: others it could not know of.
    await give(generator, b)
    let seen = 0
    const asked = Array.from({ length: 24 }, (_, i) => request(`k${i}`, { n: 2, sampling: { maxNewTokens: 120 } }))
    const collecting = collect(generator.generate(asked, { onToken: () => seen++ }))
    await expect.poll(() => seen, { ...patiently, interval: 5 }).toBeGreaterThan(200)
    process.kill(engine.pid, 'SIGKILL')
    await engine.exited
    const port = Number(new URL(engine.url).port)
    engine = await world.start(type, a, { port, loraRank: 4, ...(flags ? { flags } : {}) })
    const outcomes = await collecting
    expect(new Set(outcomes.map(({ requestId, sample }) => `${requestId}/${sample}`)).size).toBe(48)
    expect(outcomes).toHaveLength(48)
    for (const outcome of outcomes) {
      const sample = outcome as Sample
      expect(sample).toMatchObject({ kind: 'completed', finishReason: 'length' })
      expect(sample.versions.map(span => span.version)).toEqual([version])
      // Before and after, the weights are those of the last update, not those of the server's first day.
      await check(b, sample)
    }
  }, 2_400_000)
}
