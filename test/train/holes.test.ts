/** Tokens in the middle of a response that are not trained are counted out of every formula. */
import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import {
  type AdvantageOptions,
  advantageEstimators,
  deriveAdvantages,
  type LossEntry,
  type LossName,
  losses,
  policyLossNames,
  tokenTotals,
} from '../../src/maths/index.js'
import { expectClose } from '../support/close.js'

type Rows = readonly (readonly number[])[]

interface Recorded {
  readonly mask: Rows
  readonly options: Readonly<Record<string, unknown>>
}

/** Computed over arrays of full length with a mask, in float64, by `make-holes.py`. */
const recorded: {
  advantages: readonly (Recorded & {
    estimator: (typeof advantageEstimators)[number]
    rewards: number[]
    kl: number
  } & Record<'logprobs' | 'refLogprobs' | 'values' | 'tokenRewards' | 'advantages' | 'returns', Rows>)[]
  losses: readonly (Recorded & { name: LossName; value: number; gradients: Readonly<Record<string, Rows>> })[]
} = JSON.parse(readFileSync(new URL('../fixtures/holes.json', import.meta.url), 'utf8'))

const tolerance = (expected: number): number => 1e-12 * Math.max(1, Math.abs(expected))

/** The numbers of the trained tokens: what a model gives for a sequence. */
const trained = ({ mask }: Recorded, rows: Rows): number[][] =>
  rows.map((row, i) => row.filter((_, t) => mask[i]![t] === 1))

it.each(recorded.advantages.map((one, i) => ({ ...one, i })))('$estimator, case $i: rewards, KL, advantages', one => {
  const [logprobs, refLogprobs, values] = [one.logprobs, one.refLogprobs, one.values].map(rows => trained(one, rows))
  const { samples, info } = deriveAdvantages({
    samples: one.rewards.map((reward, i) => ({
      promptId: Math.floor(i / 4),
      reward,
      length: logprobs![i]!.length,
      ...{ logprobs: logprobs![i], refLogprobs: refLogprobs![i], values: values![i] },
    })),
    options: { ...(one.options as AdvantageOptions), advantageEstimator: one.estimator },
  })
  expectClose([info.kl!], [one.kl], tolerance, 'kl')
  for (const field of ['tokenRewards', 'advantages', 'returns'] as const)
    for (const [i, expected] of trained(one, one[field]).entries())
      expectClose(samples[i]![field], expected, tolerance, `${field}[${i}]`)
})

describe('losses', () => {
  it.each(recorded.losses.map((one, i) => ({ ...one, i })))('$name, case $i: value and gradients', one => {
    const { name, value, gradients } = one
    // A policy loss has its name; an objective takes it as an option.
    const { loss, ...rest } = one.options
    const options = name === 'objective' ? one.options : rest
    const columns = Object.entries(one).filter(([, rows]) => Array.isArray(rows) && rows !== one.mask) as [
      string,
      Rows,
    ][]
    const samples = one.mask.map((_, i) =>
      Object.fromEntries(columns.map(([field, rows]) => [field, trained(one, rows)[i]!])),
    )
    const totals = tokenTotals(one.mask.map(mask => mask.filter(Boolean).length))
    const entry: LossEntry = losses[name]
    const result = entry.compute({ samples, totals, options } as never)
    expectClose([result.value], [value], tolerance, 'value')
    for (const [field, rows] of Object.entries(gradients)) {
      const found = result.gradients as readonly Record<string, Float64Array>[]
      for (const [i, expected] of trained(one, rows).entries())
        expectClose(found[i]![field]!, expected, tolerance, `${field}[${i}]`)
      // A model scatters zeros into the holes, which is what the derivative is there.
      for (const [i, row] of rows.entries())
        expect(row.filter((slope, t) => one.mask[i]![t] === 0 && slope !== 0)).toEqual([])
    }
  })
})

it('there is a case of every estimator and of every loss of tokens, and every response has a hole in its middle', () => {
  const names = (all: readonly { estimator?: string; name?: string }[]) =>
    new Set(all.map(one => one.estimator ?? one.name))
  for (const name of advantageEstimators) expect(names(recorded.advantages)).toContain(name)
  for (const name of [...policyLossNames, 'kl', 'entropy', 'value', 'objective', 'sft'])
    expect(names(recorded.losses)).toContain(name)
  for (const { mask } of [...recorded.advantages, ...recorded.losses])
    for (const row of mask) expect(row.slice(0, 3)).toEqual([1, 0, 1])
})
