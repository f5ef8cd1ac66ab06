import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { BlockPool, blocksFor } from '../../src/rollout/local/blocks.js'
import { CachedSequence, Prefix } from '../../src/rollout/local/cached-sequence.js'
import { type Plan, Scheduler, type SchedulerOptions } from '../../src/rollout/local/scheduler.js'

const options: SchedulerOptions = { maxSequences: 4, tokenBudget: 64, scoredRows: 8, refillAfter: 0 }

function make(blocks: number, change: Partial<SchedulerOptions> = {}) {
  const pool = new BlockPool(blocks)
  return { pool, scheduler: new Scheduler<CachedSequence>(pool, { ...options, ...change }) }
}

/** Runs steps until nothing is left; each sequence ends at its target length. Answers with the plans. */
function drain(scheduler: Scheduler<CachedSequence>, targets: Map<CachedSequence, number>): Plan<CachedSequence>[] {
  const plans: Plan<CachedSequence>[] = []
  for (let plan = scheduler.next(); plan; plan = scheduler.next()) {
    if (plans.push(plan) > 10_000) throw new Error('no progress')
    check(plan)
    scheduler.commit(plan)
    for (const { of, samples } of plan.scheduled) {
      if (!samples || !(of instanceof CachedSequence)) continue
      of.length++
      if (of.length >= targets.get(of)!) scheduler.finish(of)
    }
  }
  return plans
}

/** No two rows of a step write one slot, nothing is written where another sequence reads, and not too many logits are wanted. */
function check(plan: Plan<CachedSequence>): void {
  // Plain throws: an expectation for every token would take most of the time.
  const demand = (holds: boolean, what: string): void => {
    if (!holds) throw new Error(what)
  }
  const written = new Map<number, unknown>()
  const slot = (blocks: readonly number[], position: number): number =>
    blocks[Math.floor(position / 16)]! * 16 + (position % 16)
  for (const { of, start, count } of plan.scheduled) {
    demand(of.blocks.length >= blocksFor(start + count), 'a row has no block')
    for (let position = start; position < start + count; position++) {
      demand(!written.has(slot(of.blocks, position)), 'two rows write one slot')
      written.set(slot(of.blocks, position), of)
    }
  }
  for (const { of, start } of plan.scheduled)
    for (let position = 0; position < start; position++)
      demand((written.get(slot(of.blocks, position)) ?? of) === of, 'a row writes what another sequence reads')
  const scored = plan.scheduled.map(({ of, start, count }) => Math.max(0, Math.min(of.scoredTo - start, count)))
  demand(scored.reduce((a, b) => a + b, 0) <= options.scoredRows, 'more logits than a step has room for')
  demand(new Set(plan.copies.filter((_, i) => i % 2 === 1)).size === plan.copies.length / 2, 'two copies to one block')
}

test('a slot that becomes free is filled in the next step', () => {
  const { scheduler } = make(100)
  const sequences = Array.from({ length: 6 }, () => new CachedSequence(3, undefined))
  for (const sequence of sequences) scheduler.add(sequence)
  const plans = drain(scheduler, new Map(sequences.map((sequence, i) => [sequence, i === 0 ? 4 : 8])))
  expect(plans[0]!.scheduled.map(({ of }) => of)).toEqual(sequences.slice(0, 4))
  expect(plans[1]!.scheduled.map(({ of }) => of)).toEqual([...sequences.slice(1, 4), sequences[4]])
  expect(scheduler.counts).toMatchObject({ running: 0, waiting: 0, usedBlocks: 0 })
})

test('only a prompt that is longer than the budget is divided', () => {
  const { scheduler } = make(100, { tokenBudget: 20 })
  const prefix = new Prefix(16)
  const samples = [new CachedSequence(17, prefix), new CachedSequence(17, prefix)]
  const [short, long, last] = [
    new CachedSequence(12, undefined),
    new CachedSequence(50, undefined),
    new CachedSequence(15, undefined),
  ]
  for (const sequence of [short, ...samples, long, last]) scheduler.add(sequence)
  const targets = [short, long, last, ...samples].map(sequence => [sequence, sequence.length + 9] as const)
  const plans = drain(scheduler, new Map(targets))
  const rows = (of: CachedSequence | Prefix) =>
    plans.flatMap(({ scheduled }, i) => {
      const found = scheduled.find(item => item.of === of && item.count > 1)
      return found ? [[i, found.count]] : []
    })
  expect(rows(short)).toEqual([[0, 12]])
  expect(rows(prefix)).toEqual([[1, 16]])
  expect(
    rows(long)
      .map(([, count]) => count)
      .reduce((sum, count) => sum! + count!),
  ).toBe(50)
  expect(rows(long).length).toBeGreaterThan(2)
  expect(rows(last)).toHaveLength(1)
})

describe('on a device that takes several steps at a time, those who found no place', () => {
  const refillAfter = 3
  const sequencesOf = (length: number): CachedSequence[] =>
    Array.from({ length }, () => new CachedSequence(3, undefined))
  /** Which sequences begin in each step. */
  const begins = (plans: readonly Plan<CachedSequence>[], sequences: readonly CachedSequence[]): number[][] =>
    plans.map(({ scheduled }) =>
      scheduled.filter(({ start }) => start === 0).map(({ of }) => sequences.indexOf(of as CachedSequence)),
    )

  test('wait that long, then come wherever a place is free', () => {
    const { scheduler } = make(100, { refillAfter })
    const sequences = sequencesOf(8)
    for (const sequence of sequences) scheduler.add(sequence)
    const targets = [4, 5, 8, 9, 9, 9, 9, 9]
    const plans = drain(scheduler, new Map(sequences.map((sequence, i) => [sequence, targets[i]!])))
    // The first two end in steps 1 and 2, the next in 5 and 6.
    expect(begins(plans, sequences).slice(0, 8)).toEqual([[0, 1, 2, 3], [], [], [4, 5], [], [], [6, 7], []])
  })

  test('come at once where nobody is left', () => {
    const { scheduler } = make(100, { refillAfter })
    const sequences = sequencesOf(6)
    for (const sequence of sequences) scheduler.add(sequence)
    const plans = drain(scheduler, new Map(sequences.map(sequence => [sequence, 4])))
    expect(begins(plans, sequences)).toEqual([
      [0, 1, 2, 3],
      [4, 5],
    ])
  })

  test('are not those who come while a place is free', () => {
    const { scheduler } = make(100, { refillAfter })
    const sequences = sequencesOf(4)
    for (const sequence of sequences.slice(0, 3)) scheduler.add(sequence)
    scheduler.commit(scheduler.next()!)
    expect(scheduler.admits).toBe(false)
    scheduler.add(sequences[3]!)
    expect(scheduler.admits).toBe(true)
    expect(begins([scheduler.next()!], sequences)).toEqual([[3]])
    scheduler.add(new CachedSequence(3, undefined))
    expect(scheduler.admits).toBe(false)
  })

  test('are not those who only waited for the budget of a step', () => {
    const { scheduler } = make(100, { refillAfter, tokenBudget: 6 })
    const sequences = sequencesOf(4)
    for (const sequence of sequences) scheduler.add(sequence)
    const plans = drain(scheduler, new Map(sequences.map(sequence => [sequence, 30])))
    expect(begins(plans, sequences).slice(0, 3)).toEqual([[0, 1], [2, 3], []])
  })

  test('are not those whose prompt is computed: they cost nothing more', () => {
    const { scheduler } = make(100, { refillAfter })
    const prefix = new Prefix(39)
    const samples = Array.from({ length: 3 }, () => new CachedSequence(40, prefix))
    const others = sequencesOf(3)
    for (const sequence of [...others.slice(0, 1), ...samples, ...others.slice(1)]) scheduler.add(sequence)
    const plans = drain(scheduler, new Map([...others, ...samples].map(sequence => [sequence, sequence.length + 20])))
    expect(plans[0]!.scheduled.map(({ of }) => of)).toEqual([others[0], prefix])
    expect(plans[1]!.scheduled.map(({ of }) => of)).toEqual([others[0], ...samples])
  })
})

describe('samples of one prompt', () => {
  test('compute it once and share its whole blocks', () => {
    const { pool, scheduler } = make(100)
    const prefix = new Prefix(39)
    const samples = Array.from({ length: 4 }, () => new CachedSequence(40, prefix))
    for (const sample of samples) scheduler.add(sample)
    const first = scheduler.next()!
    expect(first.scheduled).toEqual([{ of: prefix, start: 0, count: 39, samples: false }])
    scheduler.commit(first)
    const second = scheduler.next()!
    expect(
      second.scheduled.map(({ of, start, count }) => [samples.indexOf(of as CachedSequence), start, count]),
    ).toEqual([
      [0, 39, 1],
      [1, 39, 1],
      [2, 39, 1],
      [3, 39, 1],
    ])
    // Two whole blocks for all, the third copied for all but the last, who keeps it.
    expect(second.copies).toHaveLength(6)
    expect(pool.size - pool.available).toBe(2 + 4)
    scheduler.commit(second)
    for (const sample of samples) scheduler.finish(sample)
    expect(pool.available).toBe(100)
  })

  test('wait for slotMapping without taking others’ place', () => {
    const { scheduler } = make(100, { maxSequences: 2 })
    const prefix = new Prefix(20)
    const samples = Array.from({ length: 5 }, () => new CachedSequence(21, prefix))
    const other = new CachedSequence(5, undefined)
    for (const sequence of [...samples, other]) scheduler.add(sequence)
    const plans = drain(scheduler, new Map([...samples.map(sample => [sample, 30] as const), [other, 9]]))
    expect(plans.filter(({ scheduled }) => scheduled.some(({ of }) => of === prefix))).toHaveLength(1)
    expect(scheduler.counts).toMatchObject({ usedBlocks: 0 })
  })

  test('that are cancelled before they start let go of it', () => {
    const { pool, scheduler } = make(100)
    const prefix = new Prefix(39)
    const samples = Array.from({ length: 2 }, () => new CachedSequence(40, prefix))
    for (const sample of samples) scheduler.add(sample)
    const plan = scheduler.next()!
    for (const sample of samples) scheduler.finish(sample)
    scheduler.commit(plan)
    expect(pool.available).toBe(100)
    expect(scheduler.next()).toBeUndefined()
  })
})

test('a prompt longer than the budget is computed in pieces, beside those that generate', () => {
  const { scheduler } = make(100, { tokenBudget: 10 })
  const [short, long] = [new CachedSequence(2, undefined), new CachedSequence(25, undefined)]
  scheduler.add(short)
  scheduler.add(long)
  const plans = drain(
    scheduler,
    new Map([
      [short, 6],
      [long, 27],
    ]),
  )
  expect(
    plans.map(({ scheduled }) => scheduled.map(({ of, count }) => [of === short ? 's' : 'l', count].join('')).join()),
  ).toEqual(['s2,l8', 's1,l10', 's1,l7', 's1,l1'])
})

test('under pressure the youngest gives way, and ends all the same', () => {
  const { scheduler } = make(6)
  const [a, b] = [new CachedSequence(30, undefined), new CachedSequence(30, undefined)]
  scheduler.add(a)
  scheduler.add(b)
  drain(
    scheduler,
    new Map([
      [a, 90],
      [b, 90],
    ]),
  )
  expect(a.preemptions).toBe(0)
  expect(b.preemptions).toBeGreaterThan(0)
})

test('forgetting makes everything start anew, on another pool too', () => {
  const { scheduler } = make(50)
  const prefix = new Prefix(20)
  const sequences = [new CachedSequence(40, undefined), new CachedSequence(21, prefix), new CachedSequence(21, prefix)]
  for (const sequence of sequences) scheduler.add(sequence)
  scheduler.commit(scheduler.next()!)
  const pool = new BlockPool(40)
  scheduler.invalidateKv(pool)
  expect(scheduler.counts).toMatchObject({ running: 0, waiting: 3, blocks: 40, usedBlocks: 0 })
  drain(scheduler, new Map(sequences.map(sequence => [sequence, 50])))
  expect(pool.available).toBe(40)
})

describe('callers share the engine', () => {
  /** Steps, with every sequence one token longer after each. */
  function run(scheduler: Scheduler<CachedSequence>, steps: number): Plan<CachedSequence>[] {
    return Array.from({ length: steps }, () => {
      const plan = scheduler.next()!
      check(plan)
      scheduler.commit(plan)
      for (const { of, samples } of plan.scheduled) if (samples) (of as CachedSequence).length++
      return plan
    })
  }
  const crowd = (scheduler: Scheduler<CachedSequence>, count: number, length = 3): CachedSequence[] => {
    const caller = {}
    const sequences = Array.from({ length: count }, () => new CachedSequence(length, undefined))
    for (const sequence of sequences) scheduler.add(sequence, caller)
    return sequences
  }

  test('the next free place is for the one that has none, whatever is queued', () => {
    const { scheduler } = make(1000, { maxSequences: 16 })
    const many = crowd(scheduler, 4096)
    run(scheduler, 3)
    const [one] = crowd(scheduler, 1)
    scheduler.finish(many[5]!)
    const plan = scheduler.next()!
    expect(plan.scheduled.some(({ of }) => of === one)).toBe(true)
    expect(plan.scheduled).toHaveLength(16)
    // The place was free: nobody had to give theirs.
    expect(many.filter(({ state }) => state === 'running')).toHaveLength(15)
  })

  test('where none is free the largest gives one, keeps its keys, and gets it back', () => {
    const { scheduler } = make(1000, { maxSequences: 16, refillAfter: 4 })
    const many = crowd(scheduler, 4096)
    run(scheduler, 20)
    const [one] = crowd(scheduler, 1)
    const plans = run(scheduler, 5)
    const first = plans.findIndex(({ scheduled }) => scheduled.some(({ of }) => of === one))
    expect(first).toBeGreaterThanOrEqual(0)
    const [gave] = many.filter(({ state, blocks }) => state === 'waiting' && blocks.length > 0)
    expect(gave!.computed).toBeGreaterThan(3)
    const { computed } = gave!
    scheduler.finish(one!)
    const back = run(scheduler, 5).flatMap(({ scheduled }) => scheduled.filter(({ of }) => of === gave))
    expect(back[0]).toMatchObject({ start: computed, count: 1 })
    expect(scheduler.preemptions).toBe(0)
  })

  test('two that ask for much get about as much each', () => {
    const { scheduler } = make(1000, { maxSequences: 16 })
    const [a, b] = [crowd(scheduler, 100), crowd(scheduler, 100)]
    const targets = [...a, ...b].map((sequence, i) => [sequence, 6 + (i % 7)] as const)
    const plans = drain(scheduler, new Map(targets))
    const counted = (plan: Plan<CachedSequence>, of: CachedSequence[]): number =>
      plan.scheduled.filter(item => of.includes(item.of as CachedSequence)).length
    for (const plan of plans.slice(0, 40)) expect(Math.abs(counted(plan, a) - counted(plan, b))).toBeLessThanOrEqual(4)
  })

  test('a small one gets blocks where the large one has all of them, and both end', () => {
    const { pool, scheduler } = make(40, { maxSequences: 16, tokenBudget: 64 })
    const many = crowd(scheduler, 60, 40)
    run(scheduler, 30)
    const [one] = crowd(scheduler, 1, 30)
    const plans = run(scheduler, 4)
    expect(plans.some(({ scheduled }) => scheduled.some(({ of }) => of === one))).toBe(true)
    drain(scheduler, new Map([...many, one!].map(sequence => [sequence, 90])))
    expect(pool.available).toBe(40)
  })

  test('a long prompt that is computed in pieces leaves room for a short one', () => {
    const { scheduler } = make(1000, { tokenBudget: 64 })
    const [long] = crowd(scheduler, 1, 6400)
    run(scheduler, 2)
    const [short] = crowd(scheduler, 1, 20)
    const [plan] = run(scheduler, 1)
    expect(plan!.scheduled.map(({ of, count }) => [of === long ? 'long' : of === short ? 'short' : '', count])).toEqual(
      [
        ['long', 32],
        ['short', 20],
      ],
    )
  })

  test('one that needs many blocks is not passed for ever', () => {
    const { scheduler } = make(20, { maxSequences: 4, tokenBudget: 400 })
    const running = crowd(scheduler, 1, 30)
    run(scheduler, 1)
    const [large] = crowd(scheduler, 1, 300)
    let step = 0
    for (; large!.state !== 'running'; step++) {
      if (step > 300) throw new Error('it was passed for ever')
      running.push(...crowd(scheduler, 1, 30))
      run(scheduler, 1)
      for (const each of running) if (each.length > 33) scheduler.finish(each)
    }
  })
})

test('prompts that are scored share the room a step has for logits; others go on beside them', () => {
  const { scheduler } = make(100, { maxSequences: 6 })
  const scored = [0, 1].map(() => new CachedSequence(13, new Prefix(12, 12), 12))
  // Has lost its prefix: it scores its prompt itself.
  const alone = new CachedSequence(6, undefined, 5)
  const plain = new CachedSequence(20, undefined)
  for (const sequence of [scored[0]!, scored[1]!, alone, plain]) scheduler.add(sequence)
  const plans = drain(scheduler, new Map([...scored, alone, plain].map(sequence => [sequence, sequence.length + 1])))
  const rows = plans.map(({ scheduled }) => scheduled.map(({ count }) => count))
  expect(rows).toEqual([
    [8, 20],
    [4, 4],
    [8, 1],
    [1, 6],
  ])
})

test('whatever comes: all of it ends, no step writes over another’s tokens, no block is lost', () => {
  const groups = fc.array(
    fc.record({
      prompt: fc.integer({ min: 1, max: 60 }),
      samples: fc.integer({ min: 1, max: 5 }),
      more: fc.integer({ min: 1, max: 40 }),
    }),
    { minLength: 1, maxLength: 12 },
  )
  fc.assert(
    fc.property(
      groups,
      fc.integer({ min: 7, max: 40 }),
      fc.integer({ min: 1, max: 80 }),
      fc.integer({ min: 1, max: 8 }),
      fc.nat(9),
      fc.nat(20),
      fc.integer({ min: 1, max: 4 }),
      (asked, blocks, tokenBudget, maxSequences, cancelled, refillAfter, callerCount) => {
        const { pool, scheduler } = make(blocks, { tokenBudget, maxSequences, refillAfter })
        const callers = Array.from({ length: callerCount }, () => ({}))
        const targets = new Map<CachedSequence, number>()
        for (const [i, { prompt, samples, more }] of asked.entries()) {
          const caller = callers[i % callerCount]!
          const scoredTo = samples % 2 === 0 ? prompt - 1 : 0
          const prefix = samples > 1 && prompt > 1 ? new Prefix(prompt - 1, scoredTo) : undefined
          for (let i = 0; i < samples; i++) {
            const sequence = new CachedSequence(prompt, prefix, scoredTo)
            targets.set(sequence, prompt + more)
            scheduler.add(sequence, caller)
          }
        }
        const victim = [...targets.keys()][cancelled]
        if (victim) {
          const plan = scheduler.next()!
          scheduler.finish(victim)
          scheduler.commit(plan)
          targets.delete(victim)
          for (const { of, samples } of plan.scheduled)
            if (samples && of instanceof CachedSequence && of !== victim) {
              of.length++
              if (of.length >= targets.get(of)!) scheduler.finish(of)
            }
        }
        drain(scheduler, targets)
        expect([...targets.keys()].every(({ state }) => state === 'finished')).toBe(true)
        expect(pool.available).toBe(blocks)
      },
    ),
    { numRuns: 300 },
  )
})
