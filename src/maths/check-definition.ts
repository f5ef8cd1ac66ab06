/** What a loss and an estimator must keep to, tried on random batches before the first step. Ours are held to it by tests. */
import { InputError } from '../errors/index.js'
import type { EstimatorDefinition } from './advantages/define-estimator.js'
import { described } from './definition.js'
import { tokenTotals } from './losses/aggregation.js'
import type { LossDefinition } from './losses/define-loss.js'
import { ktoTotals } from './losses/kto.js'

type Numbers = number | Float64Array
type Sample = Readonly<Record<string, unknown>>

interface Call {
  readonly samples: readonly Sample[]
  readonly totals: object
  readonly options: Readonly<Record<string, unknown>>
}

interface Result {
  readonly value: number
  readonly gradients: readonly object[]
}

/** Numbers between 0 and 1 that a seed decides. */
function randomNumbers(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return state / 2 ** 32
  }
}

/** Batches that a loss of each kind is tried on. Policy losses see ratios between about 0.4 and 2.7. */
const batches: Readonly<Record<LossDefinition['kind'], (random: () => number) => Omit<Call, 'options'>>> = {
  policy: random => {
    const samples = Array.from({ length: 4 }, () => {
      const length = 1 + Math.floor(6 * random())
      const oldLogprobs = Float64Array.from({ length }, () => -3 * random() - 0.1)
      const [level, sign] = [random() - 0.5, random() < 0.5 ? -1 : 1]
      return {
        oldLogprobs,
        logprobs: oldLogprobs.map(old => old + level + random() - 0.5),
        engineLogprobs: oldLogprobs.slice(),
        advantages: Float64Array.from({ length }, () => sign * (0.2 + 2 * random())),
      }
    })
    return { samples, totals: tokenTotals(samples.map(({ logprobs }) => logprobs.length)) }
  },
  preference: random => {
    const samples = Array.from({ length: 4 }, () => ({
      policyChosen: -20 * random() - 5,
      policyRejected: -20 * random() - 5,
      refChosen: -20 * random() - 5,
      refRejected: -20 * random() - 5,
      chosenTokens: 1 + Math.floor(20 * random()),
      rejectedTokens: 1 + Math.floor(20 * random()),
    }))
    return { samples, totals: { pairs: samples.length } }
  },
  labelled: random => {
    const one = () => ({ policy: -20 * random() - 5, ref: -20 * random() - 5 })
    const samples = Array.from({ length: 4 }, (_, i) => ({ ...one(), desirable: i % 2 === 0 }))
    return { samples, totals: ktoTotals({ responses: samples.length, mismatched: [one(), one()] }) }
  },
  'reward-model': random => {
    const samples = Array.from({ length: 4 }, () => ({ chosen: 6 * random() - 3, rejected: 6 * random() - 3 }))
    return { samples, totals: { pairs: samples.length } }
  },
}

const step = 1e-5

/**
 * Refuses a loss whose gradient is not the slope of its value, whose numbers are not finite or differ from call to call, that
 * changes its inputs, or that does not count tokens by their coefficients.
 */
export function checkLoss(definition: LossDefinition, options: Readonly<Record<string, unknown>> = {}): void {
  const what = described(definition)
  const refuse = (message: string): never => {
    throw new InputError(`${what}: ${message}`)
  }
  for (let seed = 0; seed < 8; seed++) {
    const call: Call = { ...batches[definition.kind](randomNumbers(seed)), options }
    const run = (one: Call): Result => {
      try {
        return definition.compute(one as never)
      } catch (error) {
        return refuse(`fails on a random batch: ${(error as Error).message}`)
      }
    }
    const before = JSON.stringify(call.samples, written)
    const result = run(call)
    if (JSON.stringify(call.samples, written) !== before) refuse('changes its inputs; copy what has to change')
    if (run(call).value !== result.value) refuse('gives another value for the same batch; it must be a pure function')
    const [whole, half] = [result.value, run({ ...call, totals: doubled(call.totals) }).value]
    if (definition.kind === 'policy' && !near(2 * half, whole, 1e-9))
      refuse(
        `its value is ${whole}, and ${half} in a batch of twice the size; multiply the loss of each token by tokens.coefficients`,
      )
    for (const found of slopes(call, result, run, definition.heldConstant))
      if (!near(found.gradient, found.slope, 1e-5))
        refuse(
          `the gradient of ${found.field} at ${found.place} is ${short(found.gradient)}, and the slope of the value there is ${short(found.slope)}; ` +
            (definition.kind === 'policy'
              ? "correct what it writes into tokens.gradient, or declare heldConstant: 'ratio' where the ratio is a weight without gradient"
              : 'correct the derivatives that it returns'),
        )
  }
}

const short = (value: number): number => Number(value.toPrecision(6))

/** Typed arrays as lists. */
const written = (_: string, value: unknown): unknown => (value instanceof Float64Array ? [...value] : value)

const near = (a: number, b: number, tolerance: number): boolean =>
  Math.abs(a - b) <= tolerance * Math.max(1, Math.abs(a), Math.abs(b))

const doubled = (totals: object): object =>
  Object.fromEntries(Object.entries(totals).map(([name, count]) => [name, name === 'z0' ? count : 2 * count]))

/** Gradients and measured slopes, but for places where the loss bends: a difference does not measure a slope there. */
function* slopes(
  call: Call,
  result: Result,
  run: (call: Call) => Result,
  heldConstant: LossDefinition['heldConstant'],
) {
  for (const [i, gradient] of result.gradients.entries())
    for (const [field, given] of Object.entries(gradient) as [string, Numbers][]) {
      // The ratio stays when the old log-probability moves with the new one, and its weight when the engine's does.
      const held = heldConstant === 'ratio' && field === 'logprobs' ? ['oldLogprobs', 'engineLogprobs'] : []
      const at = (token: number, by: number) =>
        run(moved(call, { sample: i, token, by, fields: [field, ...held] })).value
      for (const [token, actual] of (typeof given === 'number' ? [given] : given).entries()) {
        const [below, above] = [at(token, -step), at(token, step)]
        const [left, right] = [(result.value - below) / step, (above - result.value) / step]
        if (!near(left, right, 1e-3)) continue
        const place = typeof given === 'number' ? `sample ${i}` : `token ${token} of sample ${i}`
        yield { field, place, gradient: actual, slope: (above - below) / (2 * step) }
      }
    }
}

function moved(call: Call, at: { sample: number; token: number; by: number; fields: readonly string[] }): Call {
  const samples = call.samples.map((sample, i) => {
    if (i !== at.sample) return sample
    const changed = at.fields.map(field => {
      const values = sample[field] as Numbers
      if (typeof values === 'number') return [field, values + at.by]
      const copy = values.slice()
      copy[at.token]! += at.by
      return [field, copy]
    })
    return { ...sample, ...Object.fromEntries(changed) }
  })
  return { ...call, samples }
}

/** Refuses an estimator whose numbers are missing, not finite or differ from call to call, or that changes its inputs. */
export function checkEstimator(definition: EstimatorDefinition, options: Readonly<Record<string, unknown>> = {}): void {
  const what = described(definition)
  const attempt = (name: string, inputs: readonly Float64Array[], work: () => Readonly<Record<string, unknown>>) => {
    const refuse = (message: string): never => {
      throw new InputError(`${what}: ${name}: ${message}`)
    }
    const before = inputs.map(input => input.slice())
    const found = [0, 1].map(() => {
      try {
        return work()
      } catch (error) {
        return refuse(`fails on random samples: ${(error as Error).message}`)
      }
    })
    const { length } = inputs[0]!
    for (const [key, values] of Object.entries(found[0]!)) {
      if (!(values instanceof Float64Array)) return refuse(`expected a Float64Array of ${key}, got ${typeof values}`)
      if (values.length !== length) refuse(`expected ${length} ${key}, got ${values.length}`)
      const bad = values.findIndex(value => !Number.isFinite(value))
      if (bad >= 0) refuse(`${key}[${bad}] is ${values[bad]} for ${[...before[0]!].join(', ')}`)
      const again = found[1]![key] as Float64Array
      if (values.some((value, i) => value !== again[i])) refuse(`gives other ${key} for the same samples`)
      if (inputs.some(input => input.buffer === values.buffer)) refuse(`${key} must be a new array`)
    }
    if (inputs.some((input, i) => input.some((value, k) => value !== before[i]![k])))
      refuse('changes its inputs; copy what has to change')
    return found[0]!
  }
  for (let seed = 0; seed < 8; seed++) {
    const random = randomNumbers(seed)
    const group = Float64Array.from({ length: 2 + (seed % 5) }, () => (seed === 0 ? 1 : 4 * random() - 2))
    if (definition.compares === 'samples of a prompt')
      attempt('shape', [group], () => ({ rewards: definition.shape(group, options) }))
    const rewards = Float64Array.from({ length: 1 + seed }, () => random() - 0.5)
    const values = Float64Array.from(rewards, () => random() - 0.5)
    const { advantages, returns } = attempt('advantages', [rewards, values], () => {
      const given = definition.values === 'needed' ? { values } : {}
      const discounts = Float64Array.from(rewards, () => 0.9)
      const found = definition.advantages({ rewards, ...given, gamma: 0.9, discounts, lambd: 0.8, options })
      return { advantages: found?.advantages, returns: found?.returns }
    })
    if ((advantages as Float64Array).buffer === (returns as Float64Array).buffer)
      throw new InputError(`${what}: advantages: advantages and returns must be separate arrays`)
  }
}
