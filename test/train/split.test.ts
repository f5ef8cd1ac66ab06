import * as fc from 'fast-check'
import { expect, it } from 'vitest'
import { type LossEntry, losses } from '../../src/maths/index.js'
import { lossNames, randomCall, randomNumbers } from '../support/random-calls.js'

type Gradient = Record<string, number | Float64Array>
const flat = (gradient: Gradient) =>
  Object.values(gradient).flatMap(values => (typeof values === 'number' ? [values] : [...values]))

it.each(lossNames)('%s: however a batch is split and ordered, values and gradients are the same', name => {
  const entry: LossEntry = losses[name]
  fc.assert(
    fc.property(fc.nat(), fc.array(fc.nat(2), { minLength: 6, maxLength: 6 }), fc.nat(), (seed, parts, order) => {
      const call = randomCall(name, seed)
      const whole = entry.compute(call as never)
      const next = randomNumbers(order)
      const places = call.samples.map((_, i) => ({ i, key: next() })).sort((a, b) => a.key - b.key)
      let value = 0
      const gradients: Gradient[] = []
      for (let part = 0; part < 3; part++) {
        const own = places.filter((_, k) => parts[k] === part).map(({ i }) => i)
        const result = entry.compute({ ...call, samples: own.map(i => call.samples[i]!) } as never)
        value += result.value
        for (const [k, i] of own.entries()) gradients[i] = result.gradients[k] as Gradient
      }
      expect(Math.abs(value - whole.value)).toBeLessThanOrEqual(1e-12 * Math.max(1, Math.abs(whole.value)))
      for (const [i, gradient] of whole.gradients.entries()) {
        const expected = flat(gradient as Gradient)
        for (const [k, actual] of flat(gradients[i]!).entries())
          expect(Math.abs(actual - expected[k]!)).toBeLessThanOrEqual(1e-12)
        expect(flat(gradients[i]!)).toHaveLength(expected.length)
      }
    }),
    { numRuns: 30 },
  )
})
