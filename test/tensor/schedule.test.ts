import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createSchedule, type ScheduleOptions } from '../../src/tensor/schedule.js'

interface Golden {
  readonly cases: readonly { scheduler: string; options: ScheduleOptions; rates: readonly number[] }[]
}

const golden: Golden = JSON.parse(
  readFileSync(new URL('../fixtures/schedule/transformers.json', import.meta.url), 'utf8'),
)

describe('the numbers of transformers', () => {
  it.each(golden.cases)('$scheduler $options', ({ options, rates }) => {
    const schedule = createSchedule(options)
    for (const [step, rate] of rates.entries()) expect(schedule(step), `step ${step}`).toBeCloseTo(rate, 14)
  })
})

const falling = fc
  .record({
    kind: fc.constantFrom('linear' as const, 'cosine' as const),
    warmupSteps: fc.nat(50),
    fallSteps: fc.nat(200),
    floor: fc.double({ min: 0, max: 1, noNaN: true }),
  })
  .map(({ fallSteps, ...rest }) => ({ ...rest, totalSteps: rest.warmupSteps + fallSteps }))

describe('every schedule', () => {
  it('rises to the peak, never rises after it, and stays at the floor from the last step on', () => {
    fc.assert(
      fc.property(falling, options => {
        const schedule = createSchedule(options)
        const { warmupSteps, totalSteps, floor } = options
        for (let step = 1; step < warmupSteps; step++) expect(schedule(step)).toBeGreaterThan(schedule(step - 1))
        if (warmupSteps > 0) expect(schedule(0)).toBe(0)
        if (totalSteps > warmupSteps) expect(schedule(warmupSteps)).toBeCloseTo(1, 15)
        for (let step = warmupSteps + 1; step <= totalSteps; step++) {
          expect(schedule(step)).toBeLessThanOrEqual(schedule(step - 1))
        }
        for (const after of [0, 1, 7, 1000]) expect(schedule(totalSteps + after)).toBe(floor)
      }),
    )
  })

  it.each([
    [{ kind: 'constant', warmupSteps: -1 }, /warmupSteps/],
    [{ kind: 'constant', warmupSteps: 1.5 }, /warmupSteps/],
    [{ kind: 'linear', warmupSteps: 0, totalSteps: Number.NaN }, /totalSteps/],
    [{ kind: 'linear', warmupSteps: 11, totalSteps: 10 }, /peak would never be reached/],
    [{ kind: 'cosine', warmupSteps: 0, totalSteps: 10, floor: -0.1 }, /floor/],
    [{ kind: 'cosine', warmupSteps: 0, totalSteps: 10, floor: Number.NaN }, /floor/],
  ] satisfies [ScheduleOptions, RegExp][])('refuses %o', (options, message) => {
    expect(() => createSchedule(options)).toThrow(RangeError)
    expect(() => createSchedule(options)).toThrow(message)
  })

  it.each([-1, 0.5, Number.NaN, Number.POSITIVE_INFINITY])('refuses step %d', step => {
    expect(() => createSchedule({ kind: 'constant', warmupSteps: 0 })(step)).toThrow(RangeError)
  })
})
