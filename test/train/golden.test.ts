import { expect, it } from 'vitest'
import { type LossEntry, type LossName, losses } from '../../src/maths/index.js'
import { expectClose } from '../support/close.js'
import { goldenCases, goldenZ0 } from '../support/golden-maths.js'

it.each(goldenCases.map((golden, i) => ({ ...golden, i })))(
  'case $i, $name: value and gradients to 1e-9',
  ({ name, call, value, gradients }) => {
    const entry: LossEntry = losses[name]
    const result = entry.compute(call as never)
    expectClose([result.value], [value], undefined, 'value')
    const fields = new Set(Object.keys(gradients))
    for (const [i, given] of result.gradients.entries()) {
      const sample = given as Record<string, number | Float64Array>
      for (const field of fields) {
        const expected = gradients[field]![i]!
        // A gradient that is left out is 0.
        const actual = sample[field] ?? new Float64Array((expected as number[]).length)
        expectClose([actual].flatMap(toArray), [expected].flatMap(toArray), undefined, `${field}[${i}]`)
      }
      expect(Object.keys(sample).filter(field => !fields.has(field))).toEqual([])
    }
    expect(result.gradients).toHaveLength(call.samples.length)
  },
)

const toArray = (values: number | ArrayLike<number>) => (typeof values === 'number' ? [values] : Array.from(values))

it('every loss has a recorded case', () => {
  const recorded = new Set<LossName>(goldenCases.map(({ name }) => name))
  // Entropies are recorded as part of whole objectives.
  const inObjectives = goldenCases.some(({ call }) => 'entropyCoef' in call.options && call.options.entropyCoef !== 0)
  if (inObjectives) recorded.add('entropy')
  expect([...recorded].sort()).toEqual(Object.keys(losses).sort())
})

it('z0 of kto', () => {
  for (const { recorded, totals } of goldenZ0) expect(totals).toMatchObject({ z0: recorded })
})
