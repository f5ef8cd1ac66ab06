import { setTimeout as sleep } from 'node:timers/promises'
import fc from 'fast-check'
import { describe, expect, it, vi } from 'vitest'
import {
  batchReward,
  customReward,
  type RewardAnswer,
  RewardComputationEngine,
  RewardConfigError,
  type RewardOutcome,
  RewardStoppedError,
  sampleReward,
} from '../../src/reward/index.js'
import { cpuTimer } from '../../src/watchdog/index.js'
import { sample, samples } from '../support/reward-samples.js'

const engineOf = (source: ReturnType<typeof sampleReward>) => new RewardComputationEngine({ sources: [source] })
const reasonOf = (outcome: RewardOutcome) => (outcome.kind === 'failed' ? outcome.reason : outcome.reward)

describe('functions', () => {
  it('are sync or async, of one sample or many, and keep the order', async () => {
    const inputs = samples(20)
    const value = (response: string) => Number(response) / 2
    const wanted = inputs.map(({ response }) => value(response))
    for (const source of [
      sampleReward(({ response }) => value(response), { name: 'sync' }),
      // The later ones answer first.
      sampleReward(({ response }) => sleep(40 - Number(response), value(response)), { name: 'async' }),
      batchReward(some => some.map(({ response }) => value(response)), { name: 'batch' }),
      batchReward(async some => Float64Array.from(some, ({ response }) => value(response)), { name: 'typed' }),
      batchReward(some => some.map(({ response }) => value(response)), { name: 'small', batchSize: 3 }),
    ]) {
      const { outcomes } = await engineOf(source).compute(inputs)
      expect(outcomes.map(reasonOf), source.name).toEqual(wanted)
      expect(outcomes[3]).toMatchObject({ components: { [source.name]: 1.5 } })
    }
  })

  it("take LightRFT's queries, prompts and labels", async () => {
    const seen: unknown[] = []
    const engine = new RewardComputationEngine({
      customRewardFunc: (queries, prompts, labels) => {
        seen.push(queries, prompts, labels)
        return queries.map((_, i) => i)
      },
    })
    const { outcomes } = await engine.compute([sample('a<eos>', { label: 'x' }), sample('b')])
    expect(seen).toEqual([
      ['Q: a<eos>', 'Q: b'],
      ['Q: ', 'Q: '],
      ['x', undefined],
    ])
    expect(outcomes.map(reasonOf)).toEqual([0, 1])
    expect(outcomes[1]).toMatchObject({ components: { customRewardFunc: 1 } })
    expect(customReward(() => []).name).toBe('customRewardFunc')
  })

  it('give metrics of their own', async () => {
    const engine = engineOf(
      sampleReward(() => ({ reward: 1, metrics: { depth: 3, broken: Number.NaN } }), { name: 'm' }),
    )
    const together = batchReward(
      inputs => ({ rewards: inputs.map(() => 2), metrics: { all: 7, each: inputs.map(({ sample: i }) => i) } }),
      { name: 'batch' },
    )
    expect((await engineOf(together).compute(samples(2))).outcomes).toMatchObject([
      { reward: 2, metrics: { all: 7, each: 0 } },
      { reward: 2, metrics: { all: 7, each: 1 } },
    ])
    const { outcomes, summary } = await engine.compute(samples(2))
    expect(outcomes[0]).toMatchObject({ metrics: { depth: 3 } })
    expect(outcomes[0]).not.toHaveProperty('metrics.broken')
    expect(summary.metrics).toEqual({ depth: { count: 2, mean: 3, std: 0, min: 3, max: 3 } })
  })

  const bad = (value: unknown) => value as RewardAnswer
  it.each<[string, () => unknown, string, RegExp]>([
    ['throws', () => raise(new TypeError('no such field')), 'threw', /TypeError: no such field/],
    ['rejects', () => Promise.reject(new Error('later')), 'threw', /later/],
    ['throws no error', () => raise('text'), 'threw', /text/],
    ['gives NaN', () => Number.NaN, 'non-finite', /NaN/],
    ['gives Infinity', () => Number.POSITIVE_INFINITY, 'non-finite', /Infinity/],
    ['gives null', () => null, 'wrong-type', /null/],
    ['gives nothing', () => undefined, 'wrong-type', /undefined/],
    ['gives a text', () => '1', 'wrong-type', /a string/],
    ['gives a boolean', () => true, 'wrong-type', /return 1 or 0/],
    ['gives an object', () => ({ score: 1 }), 'wrong-type', /undefined/],
    ['gives a NaN in an object', () => ({ reward: Number.NaN }), 'non-finite', /NaN/],
    ['gives metrics that are none', () => ({ reward: 1, metrics: 3 }), 'wrong-type', /metrics/],
  ])('a function that %s fails its sample alone', async (_, misbehave, reason, message) => {
    const source = sampleReward(({ response }) => (response === '1' ? bad(misbehave()) : 1), { name: 'odd' })
    const { outcomes, summary } = await engineOf(source).compute(samples(3))
    expect(outcomes.map(reasonOf)).toEqual([1, reason, 1])
    expect(outcomes[1]).toMatchObject({ kind: 'failed', source: 'odd', message: expect.stringMatching(message) })
    expect(summary).toMatchObject({
      scored: 2,
      failed: 1,
      failuresByReason: { [reason]: 1 },
      failuresBySource: { odd: 1 },
    })
    expect(summary.reward).toMatchObject({ count: 2, mean: 1 })
  })

  it.each<[string, (count: number) => unknown, string]>([
    ['too few', count => new Array(count - 1).fill(1), 'wrong-count'],
    ['too many', count => new Array(count + 1).fill(1), 'wrong-count'],
    ['none', () => [], 'wrong-count'],
    ['a number', () => 1, 'wrong-type'],
    ['nothing', () => undefined, 'wrong-type'],
  ])('a batch of rewards with %s of them fails whole: whose they are is not known', async (_, give, reason) => {
    const source = batchReward(inputs => bad(give(inputs.length)) as never, { name: 'many' })
    const { outcomes } = await engineOf(source).compute(samples(4))
    expect(outcomes.map(reasonOf)).toEqual([reason, reason, reason, reason])
  })

  it('a function that never answers ends at its deadline, and holds up nobody else', async () => {
    const source = sampleReward(({ response }) => (response === '0' ? new Promise(() => {}) : 1), {
      name: 'hung',
      deadlineMs: 300,
      concurrency: 2,
    })
    const { outcomes } = await engineOf(source).compute(samples(20))
    expect(outcomes.map(reasonOf)).toEqual(['timeout', ...new Array(19).fill(1)])
    expect(outcomes[0]).toMatchObject({ message: expect.stringMatching(/no answer within 0\.3 s/) })
  })

  it('an answer after the deadline is counted and told, and never used', async () => {
    const late: unknown[] = []
    const engine = new RewardComputationEngine({
      sources: [sampleReward(() => sleep(80, 1), { name: 'slow', deadlineMs: 30 })],
      onLate: event => late.push(event),
    })
    const { outcomes } = await engine.compute([sample('x')])
    expect(outcomes.map(reasonOf)).toEqual(['timeout'])
    await sleep(100)
    expect(late).toEqual([{ source: 'slow', samples: 1, lateMs: expect.any(Number) }])
    expect(engine.counts.slow).toMatchObject({ late: 1, failures: 1 })
    expect(outcomes.map(reasonOf)).toEqual(['timeout'])
  })

  it('a function that blocks past its deadline is late, and is reported by name, once', async () => {
    const blocked: { source: string; blockedMs: number }[] = []
    const block = () => {
      const used = cpuTimer()
      while (used() < 70);
      return 1
    }
    const engine = new RewardComputationEngine({
      sources: [sampleReward(block, { name: 'busy', deadlineMs: 40 })],
      onBlocked: event => blocked.push(event),
    })
    const { outcomes } = await engine.compute(samples(2))
    expect(outcomes.map(reasonOf)).toEqual(['late', 'late'])
    expect(blocked).toHaveLength(1)
    expect(blocked[0]!.source).toBe('busy')
    expect(blocked[0]!.blockedMs).toBeGreaterThan(60)
  })

  it('a reward in a process of its own is not blamed for what this process waits for', async () => {
    const blocked: unknown[] = []
    const busy = sampleReward(
      () => {
        const end = performance.now() + 70
        while (performance.now() < end);
        return 1
      },
      { name: 'elsewhere' },
    )
    const sources = [{ ...busy, isolated: true }]
    await new RewardComputationEngine({ sources, onBlocked: event => blocked.push(event) }).compute(samples(1))
    expect(blocked).toEqual([])
  })

  it('warns of a blocking reward where nobody listens for it', async () => {
    const emitted = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
    const block = () => {
      const used = cpuTimer()
      while (used() < 60);
      return 1
    }
    await engineOf(sampleReward(block, { name: 'greedy' })).compute([sample('x')])
    expect(emitted.mock.calls[0]?.[0]).toMatch(/reward "greedy" blocked the event loop for \d+ ms/)
    emitted.mockRestore()
  })

  it('many short calls leave the event loop its turns', async () => {
    let beats = 0
    const heart = setInterval(() => beats++, 5)
    const work = () => {
      const end = performance.now() + 2
      while (performance.now() < end);
      return 1
    }
    await engineOf(sampleReward(work, { name: 'short' })).compute(samples(100))
    clearInterval(heart)
    expect(beats).toBeGreaterThan(5)
  })

  it('retries where it is told to, with an end', async () => {
    let calls = 0
    const flaky = sampleReward(() => (++calls < 3 ? raise(new Error('not yet')) : 1), { name: 'flaky' })
    const engine = new RewardComputationEngine({ sources: [flaky], onRewardFailure: 'retry' })
    expect((await engine.compute([sample('x')])).outcomes.map(reasonOf)).toEqual([1])
    expect(calls).toBe(3)
    const never = new RewardComputationEngine({
      sources: [sampleReward(() => raise(new Error('never')), { name: 'never' })],
      onRewardFailure: 'retry',
      failureRetries: 4,
    })
    expect((await never.compute([sample('x')])).outcomes.map(reasonOf)).toEqual(['threw'])
    expect(never.counts.never).toMatchObject({ calls: 5 })
  })

  it('stops at the first failure where it is told to, and names the sample', async () => {
    let asked = 0
    const source = sampleReward(
      async ({ response }) => {
        asked++
        await sleep(1)
        return response === '3' ? raise(new Error('bad')) : 1
      },
      { name: 'strict', concurrency: 1 },
    )
    const engine = new RewardComputationEngine({ sources: [source], onRewardFailure: 'stop' })
    const inputs = samples(50, () => ({ promptId: 'p7' }))
    const error = await engine.compute(inputs).catch((error: unknown) => error)
    expect(error).toBeInstanceOf(RewardStoppedError)
    expect((error as Error).message).toBe('reward "strict" failed on sample 3 of prompt p7 (threw): Error: bad')
    await sleep(20)
    expect(asked).toBeLessThan(8)
  })

  it('is aborted at once, whatever a source does', async () => {
    const stop = new AbortController()
    let told = 0
    const source = batchReward(
      (_, { signal }) =>
        new Promise(() => {
          signal.addEventListener('abort', () => told++)
        }),
      { name: 'deaf' },
    )
    const running = engineOf(source).compute(samples(3), { signal: stop.signal })
    await sleep(10)
    stop.abort(new Error('enough'))
    await expect(running).rejects.toThrow('enough')
    expect(told).toBe(1)
    await expect(engineOf(source).compute(samples(3), { signal: stop.signal })).rejects.toThrow('enough')
  })

  it('one signal serves thousands of samples without a warning', async () => {
    const warnings: Error[] = []
    const listen = (warning: Error) => warnings.push(warning)
    process.on('warning', listen)
    const { signal } = new AbortController()
    const engine = engineOf(sampleReward(() => sleep(5, 1), { name: 'one' }))
    await Promise.all(samples(500).map(input => engine.enqueue(input, { signal })))
    await sleep(5)
    process.off('warning', listen)
    expect(warnings).toEqual([])
  })

  it('limits that mean nothing are refused', () => {
    expect(() => sampleReward(() => 1, { name: 'x', concurrency: 0 })).toThrow(
      new RewardConfigError('reward "x": concurrency should be a whole number of at least 1, got 0'),
    )
    expect(() => batchReward(() => [], { name: 'x', retries: 1.5 })).toThrow(/retries should be a whole number/)
  })

  it('whatever a function does, there is one outcome per sample, in their order, and no failure is a number', async () => {
    const behaviour = fc.constantFrom('score', 'throw', 'reject', 'nan', 'null', 'slow', 'hang')
    await fc.assert(
      fc.asyncProperty(
        fc.array(behaviour, { maxLength: 16 }),
        fc.integer({ min: 1, max: 7 }),
        async (behaviours, concurrency) => {
          const source = sampleReward(
            ({ sample: i }) => {
              switch (behaviours[i]) {
                case 'throw':
                  throw new Error('thrown')
                case 'reject':
                  return Promise.reject(new Error('rejected'))
                case 'nan':
                  return Number.NaN
                case 'null':
                  return bad(null)
                case 'slow':
                  return sleep(3, i)
                case 'hang':
                  return new Promise<number>(() => {})
                default:
                  return i
              }
            },
            { name: 'any', concurrency, deadlineMs: 100 },
          )
          const { outcomes } = await engineOf(source).compute(samples(behaviours.length))
          const reasons = { throw: 'threw', reject: 'threw', nan: 'non-finite', null: 'wrong-type', hang: 'timeout' }
          const wanted = behaviours.map((kind, i) => reasons[kind as keyof typeof reasons] ?? i)
          // A loaded machine may make any answer late; it is then a failure, not another number.
          const seen = outcomes.map((outcome, i) => {
            const tooLate = outcome.kind === 'failed' && ['late', 'timeout'].includes(outcome.reason)
            return tooLate ? wanted[i] : reasonOf(outcome)
          })
          expect(seen).toEqual(wanted)
        },
      ),
      { numRuns: 15 },
    )
  })
})

function raise(error: unknown): never {
  throw error
}
