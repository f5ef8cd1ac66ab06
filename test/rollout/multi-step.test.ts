import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import type { LocalModel } from '../../src/model/index.js'
import { type GenerationRequest, LocalEngine } from '../../src/rollout/index.js'
import { BlockPool, blocksFor } from '../../src/rollout/local/blocks.js'
import { CachedSequence } from '../../src/rollout/local/cached-sequence.js'
import { type MultiStepCandidate, planMultiStep } from '../../src/rollout/local/multi-step.js'
import { Scheduler } from '../../src/rollout/local/scheduler.js'
import type { MultiStepDecode, StepBatch, StepDevice, StepResult } from '../../src/rollout/local/step.js'
import { collect, loadModel, numbers, randomIds } from '../support/generation.js'

const sample = (
  given: Partial<MultiStepCandidate['requestState']['sampling']> & { made?: number; most?: number },
): MultiStepCandidate => {
  const { made = 1, most = 100, ...sampling } = given
  return {
    maxNewTokens: most,
    response: { length: made },
    requestState: {
      sampling: { temperature: 1, firstTemperature: 1, minNewTokens: 0, topLogprobs: undefined, ...sampling },
    },
  }
}

describe('how many steps', () => {
  const most = { steps: 8, top: 5 }

  test('as far as the device goes, and no further than the longest budget', () => {
    expect(planMultiStep([sample({}), sample({ made: 97 })], most)).toEqual({ steps: 8, budgets: Int32Array.of(99, 3) })
    expect(planMultiStep([sample({ made: 98 }), sample({ made: 97 })], most)?.steps).toBe(3)
  })

  test('until a sample is drawn in another way', () => {
    expect(planMultiStep([sample({}), sample({ minNewTokens: 5, made: 2 })], most)?.steps).toBe(3)
    expect(planMultiStep([sample({ made: 0, firstTemperature: 2 })], most)?.steps).toBe(1)
    expect(planMultiStep([sample({ made: 0 })], most)?.steps).toBe(8)
  })

  test('not where more of the likeliest tokens are wanted than the device can give', () => {
    expect(planMultiStep([sample({}), sample({ topLogprobs: 5 })], most)?.steps).toBe(8)
    expect(planMultiStep([sample({}), sample({ topLogprobs: 6 })], most)).toBeUndefined()
  })
})

test('blocks ahead are taken only where they are free, never beyond a budget, and given back', () => {
  fc.assert(
    fc.property(
      fc.array(fc.tuple(fc.integer({ min: 1, max: 40 }), fc.integer({ min: 1, max: 40 })), {
        minLength: 1,
        maxLength: 8,
      }),
      fc.integer({ min: 0, max: 12 }),
      fc.integer({ min: 1, max: 16 }),
      (rows, spare, steps) => {
        const used = rows.reduce((sum, [length]) => sum + blocksFor(length), 0)
        const pool = new BlockPool(used + spare)
        const scheduler = new Scheduler<CachedSequence>(pool, {
          maxSequences: 8,
          tokenBudget: 1000,
          scoredRows: 8,
          refillAfter: 0,
        })
        const scheduled = rows.map(([length]) => {
          const of = new CachedSequence(length, undefined)
          of.computed = length - 1
          of.state = 'running'
          while (of.blocks.length < blocksFor(length)) of.blocks.push(pool.take())
          return { of, start: length - 1, count: 1, samples: true }
        })
        const budgets = Int32Array.from(rows, ([, budget]) => budget)
        const found = scheduler.reserveSteps({ scheduled, copies: [] }, steps, budgets)
        expect(found).toBeGreaterThanOrEqual(1)
        expect(found).toBeLessThanOrEqual(steps)
        for (const [i, { of, start }] of scheduled.entries()) {
          const reach = blocksFor(start + Math.min(found, budgets[i]!))
          expect(of.blocks.length).toBe(Math.max(reach, blocksFor(rows[i]![0])))
        }
        expect(new Set(scheduled.flatMap(({ of }) => of.blocks)).size).toBe(used + spare - pool.available)
        scheduler.trim({ scheduled, copies: [] })
        for (const { of } of scheduled) expect(of.blocks.length).toBe(blocksFor(of.length))
        expect(pool.available).toBe(spare)
      },
    ),
  )
})

/** Takes several steps by doing a device's steps one by one, as a graph would: each step's tokens are the next one's rows. */
function multiStepped(device: StepDevice, log: number[], ahead = { steps: 8, syncInterval: 3, top: 2 }): StepDevice {
  const many = async (batch: StepBatch, budgets: Int32Array, steps: number): Promise<StepResult> => {
    log.push(steps)
    const { count } = batch.samplingRows
    const found: StepResult[] = []
    let now = batch
    for (let step = 0; step < steps; step++) {
      const result = await device.step(now)
      found.push(result)
      const ended = (row: number): boolean => row >= count || step + 1 >= budgets[row]! || result.ids[row]! < 0
      // A row that is over stays where it is: its blocks end there.
      const positions = now.kvPositions.map((position, row) => (ended(row) ? position : position + 1))
      now = {
        ...now,
        copyFrom: new Int32Array(0),
        copyTo: new Int32Array(0),
        ropePositions: positions,
        kvPositions: positions,
        ids: now.ids.map((_, row) => Math.max(0, result.ids[row] ?? 0)),
        sequences: now.sequences.map((sequence, row) => (ended(row) ? -1 : sequence)),
        slotMapping: now.slotMapping.map((_, row) => {
          const block = batch.blockTable[row * batch.blockTableWidth + Math.floor(positions[row]! / 16)]!
          return ended(row) ? -1 : block * 16 + (positions[row]! % 16)
        }),
        samplingRows: {
          ...now.samplingRows,
          streams: now.samplingRows.streams.map((word, i) => (i % 3 === 2 ? word + 1 : word)),
        },
      }
    }
    const join = <A extends Int32Array | Float32Array>(part: (r: StepResult) => A): A => {
      const each = part(found[0]!).length
      const all = new (part(found[0]!).constructor as new (length: number) => A)(steps * each)
      for (const [i, result] of found.entries()) all.set(part(result), i * each)
      return all
    }
    return {
      ids: join(({ ids }) => ids),
      raw: join(({ raw }) => raw),
      processed: join(({ processed }) => processed),
      topIds: join(({ topIds }) => topIds),
      topLogprobs: join(({ topLogprobs }) => topLogprobs),
    }
  }
  async function* decodeMultiStep(batch: StepBatch, { steps, syncInterval, budgets }: MultiStepDecode) {
    const all = await many(batch, budgets, steps)
    // As a device that is one piece ahead of whoever takes them.
    let last = steps
    for (let first = 0; first < last; first += syncInterval) {
      const part = <A extends Int32Array | Float32Array>(values: A): A => {
        const each = values.length / steps
        return values.subarray(first * each, Math.min(first + syncInterval, steps) * each) as A
      }
      const answer: 'more' | 'enough' = yield {
        ids: part(all.ids),
        raw: part(all.raw),
        processed: part(all.processed),
        topIds: part(all.topIds),
        topLogprobs: part(all.topLogprobs),
      }
      if (answer === 'enough') last = Math.min(last, first + 2 * syncInterval)
    }
    return undefined
  }
  return new Proxy(device, {
    get: (target, name) => {
      if (name === 'decodeMultiStep') return decodeMultiStep
      if (name === 'multiStep') return ahead
      const value = Reflect.get(target, name) as unknown
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
}

const wrap = vi.hoisted(() => ({ device: undefined as ((device: unknown) => unknown) | undefined }))
vi.mock('../../src/rollout/local/step-device.js', async importOriginal => {
  const original = await importOriginal<typeof import('../../src/rollout/local/step-device.js')>()
  return {
    ...original,
    openStepDevice: (...given: Parameters<typeof original.openStepDevice>) => {
      const device = original.openStepDevice(...given)
      return wrap.device ? wrap.device(device) : device
    },
  }
})

describe('an engine with multi-step decoding', () => {
  let model: LocalModel<'language'>
  beforeAll(async () => {
    model = await loadModel()
  })
  afterAll(() => model.dispose())

  const next = numbers(23)
  const requests: GenerationRequest[] = Array.from({ length: 20 }, (_, i) => ({
    id: `r${i}`,
    promptIds: randomIds(next, 1 + next(30)),
    n: 1 + next(3),
    sampling: {
      seed: 3,
      maxNewTokens: i === 3 ? 4 : 1 + next(50),
      temperature: [0, 0.8, 1][next(3)]!,
      ...(next(3) === 0 ? { stopIds: [7, 9, 30, 40] } : {}),
      ...(next(3) === 0 ? { minNewTokens: next(20) } : {}),
      ...(next(4) === 0 ? { firstTemperature: 3 } : {}),
      ...(i === 3 ? { topLogprobs: 3 } : i % 4 === 0 ? { topLogprobs: i % 3 } : {}),
      ...(next(4) === 0 ? { topK: 5 } : {}),
    },
  }))

  const run = async (options: { cacheBytes?: number; maxSequences?: number }) => {
    const engine = new LocalEngine(model, { eosIds: [2], ...options })
    const found = await collect(engine, requests)
    const { usedBlocks, running, waiting } = engine.counts
    expect({ usedBlocks, running, waiting }).toEqual({ usedBlocks: 0, running: 0, waiting: 0 })
    await engine.close()
    return [...found]
      .sort(([a], [b]) => (a < b ? -1 : 1))
      .map(([name, { responseIds, finishReason, stopReason, logprobs, topLogprobs }]) => ({
        name,
        ids: [...responseIds],
        finishReason,
        stopReason,
        raw: [...logprobs.raw!],
        topLogprobs,
      }))
  }

  const blockBytes = (): number => {
    const { layers, kvHeads, headDim } = model.config.decoder
    return layers * 2 * kvHeads * headDim * 16 * 4
  }

  test.each([
    ['with room', () => ({})],
    ['few at once', () => ({ maxSequences: 3 })],
    ['little memory', () => ({ cacheBytes: 8 * blockBytes(), maxSequences: 12 })],
  ])('gives the same samples, %s', async (_, options) => {
    wrap.device = undefined
    const expected = await run({})
    const log: number[] = []
    wrap.device = device => multiStepped(device as StepDevice, log)
    const found = await run(options())
    wrap.device = undefined
    expect(found).toEqual(expected)
    expect(Math.max(...log)).toBe(8)
  })

  test('lets in together who had to wait, where it takes several steps at a time', async () => {
    const ragged = Array.from({ length: 24 }, (_, i) => ({
      id: `r${i}`,
      promptIds: Int32Array.of(5, 6, 7),
      sampling: { seed: i, maxNewTokens: 6 + ((i * 7) % 24) },
    }))
    /** Steps with prompts in them. */
    const mixed = async (ahead: boolean): Promise<number> => {
      let count = 0
      wrap.device = given => {
        const device = given as StepDevice
        const counts = new Proxy(ahead ? multiStepped(device, []) : device, {
          get: (target, name) => {
            const value = Reflect.get(target, name) as unknown
            if (name !== 'step') return typeof value === 'function' ? value.bind(target) : value
            return (batch: StepBatch) => {
              if (batch.sequences.some((sequence, row) => sequence >= 0 && batch.kvPositions[row] === 0)) count++
              return target.step(batch)
            }
          },
        })
        return counts
      }
      const engine = new LocalEngine(model, { maxSequences: 8 })
      wrap.device = undefined
      await collect(engine, ragged)
      await engine.close()
      return count
    }
    const [together, each] = [await mixed(true), await mixed(false)]
    expect(each).toBeGreaterThanOrEqual(12)
    expect(together).toBeLessThanOrEqual(9)
  })

  test('lets a small request in where a large one has every place, and both get their tokens', async () => {
    const log: number[] = []
    wrap.device = device => multiStepped(device as StepDevice, log, { steps: 60, syncInterval: 3, top: 0 })
    const engine = new LocalEngine(model, { maxSequences: 8, eosIds: [] })
    wrap.device = undefined
    const large = { id: 'large', promptIds: Int32Array.of(5, 6, 7), n: 12, sampling: { seed: 1, maxNewTokens: 60 } }
    const small = { id: 'small', promptIds: Int32Array.of(8, 9), sampling: { seed: 1, maxNewTokens: 2 } }
    const alone = await collect(engine, [large])
    let tokens = 0
    let atSmall = 0
    const onToken = (): void => {
      if (++tokens === 40) void engine.generate([small], { onToken: () => (atSmall ||= tokens) }).next()
    }
    const found = new Map<number, number[]>()
    for await (const outcome of engine.generate([large], { onToken }))
      if (outcome.kind === 'completed') found.set(outcome.sample, [...outcome.responseIds])
    await engine.close()
    for (const { sample, responseIds } of alone.values()) expect(found.get(sample)).toEqual([...responseIds])
    // Two pieces of three steps of eight samples, the steps of a refill, and no more.
    expect(atSmall).toBeGreaterThanOrEqual(40)
    expect(atSmall).toBeLessThanOrEqual(40 + 8 * 12)
  })

  test('lets those in that come meanwhile, where there is a place', async () => {
    const log: number[] = []
    wrap.device = device => multiStepped(device as StepDevice, log, { steps: 60, syncInterval: 3, top: 0 })
    const engine = new LocalEngine(model, { maxSequences: 2 })
    wrap.device = undefined
    const first = { id: 'first', promptIds: Int32Array.of(5, 6, 7), sampling: { seed: 1, maxNewTokens: 60 } }
    const second = { id: 'second', promptIds: Int32Array.of(8, 9), sampling: { seed: 1, maxNewTokens: 2 } }
    let tokens = 0
    let atSecond = 0
    const secondEnds = new Promise<void>(resolve => {
      const onToken = (): void => {
        if (++tokens !== 4) return
        const stream = engine.generate([second], { onToken: () => (atSecond ||= tokens) })
        void stream.next().then(() => resolve())
      }
      void engine.generate([first], { onToken }).next()
    })
    await secondEnds
    await engine.close()
    expect(log[0]).toBe(59)
    // The piece it came in, and the one that was under way.
    expect(atSecond).toBeGreaterThanOrEqual(4)
    expect(atSecond).toBeLessThanOrEqual(4 + 2 * 3 + 2)
  })
})
