import { expect, it } from 'vitest'
import { type LossEntry, losses } from '../../src/maths/index.js'
import { type Call, lossNames, randomCall } from '../support/random-calls.js'

type Numbers = number | Float64Array

/** The call with one number of one sample moved, in one field or several. */
function moved(call: Call, at: { sample: number; token: number; by: number; fields: readonly string[] }): Call {
  const samples = call.samples.map((sample, i) => {
    if (i !== at.sample) return sample
    const changed = at.fields.map(field => {
      const values = sample[field] as Numbers
      return [
        field,
        typeof values === 'number' ? values + at.by : values.with(at.token, values[at.token]! + at.by),
      ] as const
    })
    return { ...sample, ...Object.fromEntries(changed) }
  })
  return { ...call, samples }
}

it.each(lossNames)('%s: the gradient is the slope of the value', name => {
  const entry: LossEntry = losses[name]
  let slopes = 0
  for (let seed = 0; seed < 40; seed++) {
    const call = randomCall(name, seed)
    const run = (call: Call) => entry.compute(call as never)
    const result = run(call)
    // A ratio that is held constant stays so when the old log-probability moves with the new one, and the importance weight
    // when the engine's does as well.
    const policy: LossEntry = losses[(call.options.loss as 'ppo' | undefined) ?? name]
    const isHeld = policy.heldConstant === 'ratio'
    for (const [sample, gradient] of result.gradients.entries())
      for (const [field, given] of Object.entries(gradient) as [string, Numbers][]) {
        const held = isHeld && field === 'logprobs' ? ['oldLogprobs', 'engineLogprobs'] : []
        for (const [token, actual] of (typeof given === 'number' ? [given] : given).entries()) {
          const by = 1e-5
          const slope =
            (run(moved(call, { sample, token, by, fields: [field, ...held] })).value -
              run(moved(call, { sample, token, by: -by, fields: [field, ...held] })).value) /
            (2 * by)
          slopes++
          const allowed = 2e-7 * Math.max(1, Math.abs(slope))
          if (!(Math.abs(actual - slope) <= allowed))
            expect.fail(`seed ${seed}, ${field}[${sample}][${token}]: gradient ${actual}, slope ${slope}`)
        }
      }
  }
  expect(slopes).toBeGreaterThan(100)
})
