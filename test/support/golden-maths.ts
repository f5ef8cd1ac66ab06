/** Numbers of an independent implementation, with automatic derivatives, in float64: test/fixtures/rl-maths.json. */
import { readFileSync } from 'node:fs'
import {
  type AdvantageEstimator,
  type KlEstimator,
  ktoTotals,
  type LossName,
  type ResolvedAdvantageOptions,
  tokenTotals,
} from '../../src/maths/index.js'

/** The part that belongs to experience. */
interface Golden {
  readonly estimators: readonly {
    estimator: AdvantageEstimator
    options: Omit<ResolvedAdvantageOptions, 'advantageEstimator' | 'nSamplesPerPrompt'> & { nSamplesPerPrompt: number }
    rewards: number[]
    logprobs: number[][]
    refLogprobs: number[][]
    values: number[][]
    tokenRewards: number[][]
    advantages: number[][]
    returns: number[][]
  }[]
  readonly klLosses: readonly {
    estimator: KlEstimator
    aggregation: string
    logprobs: number[][]
    refLogprobs: number[][]
    value: number
  }[]
  readonly runningMoments: readonly { batch: number[]; mean: number; std: number; count: number }[]
  readonly adaptiveKl: {
    initial: number
    steps: { kl: number; nSteps: number; target: number; horizon: number; coef: number }[]
  }
  readonly dynamicSampling: readonly {
    needed: number
    rounds: number[][][]
    kept: [number, number][]
    roundsUsed: number
    droppedEqual: number
  }[]
}

/** One recorded call of a loss. */
export interface GoldenCase {
  readonly name: LossName
  readonly call: { samples: readonly object[]; totals: object; options: object }
  readonly value: number
  /** By field, then sample: numbers, or arrays of one per token. */
  readonly gradients: Readonly<Record<string, readonly (number | readonly number[])[]>>
}

type Columns = Record<string, readonly unknown[]>
type Recorded = Record<string, unknown> & { value: number }

export const golden: Golden = JSON.parse(readFileSync(new URL('../fixtures/rl-maths.json', import.meta.url), 'utf8'))
const lists = golden as unknown as Readonly<Record<string, readonly Recorded[]>>

/** `{ a: [1, 2], b: [3, 4] }` as `[{ a: 1, b: 3 }, { a: 2, b: 4 }]`. */
function rows(recorded: Recorded, fields: readonly string[]): Record<string, never>[] {
  const columns = recorded as unknown as Columns
  return columns[fields[0]!]!.map((_, i) =>
    Object.fromEntries(fields.map(field => [field, columns[field]![i] as never])),
  )
}

function pick(recorded: Recorded, names: readonly string[]): Record<string, unknown> {
  return Object.fromEntries(names.filter(name => name in recorded).map(name => [name, recorded[name]]))
}

const lengths = (recorded: Recorded, field: string) => (recorded[field] as number[][]).map(({ length }) => length)

const gradient = (recorded: Recorded, fields: Record<string, string>) =>
  Object.fromEntries(Object.entries(fields).map(([field, name]) => [field, recorded[name] as number[][]]))

/** How each list of the file is a list of calls. */
const readers: Readonly<Record<string, (recorded: Recorded) => GoldenCase>> = {
  policyLosses: recorded => ({
    name: recorded.loss as LossName,
    call: {
      samples: rows(recorded, ['logprobs', 'oldLogprobs', 'engineLogprobs', 'advantages']),
      totals: tokenTotals(lengths(recorded, 'logprobs')),
      options: recorded.options as object,
    },
    value: recorded.value,
    gradients: gradient(recorded, { logprobs: 'gradLogprobs' }),
  }),
  klLosses: recorded => ({
    name: 'kl',
    call: {
      samples: rows(recorded, ['logprobs', 'refLogprobs']),
      totals: tokenTotals(lengths(recorded, 'logprobs')),
      options: { klEstimator: recorded.estimator, aggregation: recorded.aggregation },
    },
    value: recorded.value,
    gradients: gradient(recorded, { logprobs: 'gradLogprobs' }),
  }),
  valueLosses: recorded => ({
    name: 'value',
    call: {
      samples: rows(recorded, ['values', 'oldValues', 'returns']),
      totals: tokenTotals(lengths(recorded, 'values')),
      options: { valueClip: recorded.valueClip },
    },
    value: recorded.value,
    gradients: gradient(recorded, { values: 'gradValues' }),
  }),
  rewardModelLosses: recorded => ({
    name: 'reward-model',
    call: {
      samples: rows(recorded, ['chosen', 'rejected']),
      totals: { pairs: (recorded.chosen as unknown[]).length },
      options: pick(recorded, ['margin', 'centerCoef']),
    },
    value: recorded.value,
    gradients: gradient(recorded, { chosen: 'gradChosen', rejected: 'gradRejected' }),
  }),
  preferenceLosses: recorded => ({
    // dpo with smoothed labels has a name of its own.
    name: recorded.loss === 'dpo' && recorded.labelSmoothing !== 0 ? 'cdpo' : (recorded.loss as LossName),
    call: {
      samples: rows(recorded, ['policyChosen', 'policyRejected', 'refChosen', 'refRejected']),
      totals: { pairs: (recorded.policyChosen as unknown[]).length },
      options:
        recorded.loss === 'ipo'
          ? { ...pick(recorded, ['beta']), ipoLogprobs: 'sum' }
          : pick(recorded, ['beta', 'labelSmoothing']),
    },
    value: recorded.value,
    gradients: gradient(recorded, { policyChosen: 'gradChosen', policyRejected: 'gradRejected' }),
  }),
  ktoLosses: recorded => ({
    name: 'kto',
    call: {
      samples: rows(recorded, ['policy', 'ref', 'desirable']),
      totals: ktoTotals({
        responses: (recorded.policy as unknown[]).length,
        mismatched: (recorded.mismatchedPolicy as number[]).map((policy, i) => ({
          policy,
          ref: (recorded.mismatchedRef as number[])[i]!,
        })),
      }),
      options: pick(recorded, ['beta', 'desirableWeight', 'undesirableWeight']),
    },
    value: recorded.value,
    gradients: gradient(recorded, { policy: 'gradPolicy' }),
  }),
  objectives: recorded => ({
    name: 'objective',
    call: {
      samples: rows(recorded, ['logprobs', 'oldLogprobs', 'refLogprobs', 'engineLogprobs', 'advantages', 'entropies']),
      totals: tokenTotals(lengths(recorded, 'logprobs')),
      options: recorded.options as object,
    },
    value: recorded.value,
    gradients: gradient(recorded, { logprobs: 'gradLogprobs', entropies: 'gradEntropies' }),
  }),
  sftLosses: recorded => {
    // Recorded over all tokens of a sequence; the loss sees the trained ones, of sequences that have any.
    const mask = recorded.mask as boolean[][]
    const trained = (field: string) =>
      (recorded[field] as number[][])
        .map((row, i) => row.filter((_, t) => mask[i]![t]))
        .filter(({ length }) => length > 0)
    const logprobs = trained('logprobs')
    return {
      name: 'sft',
      call: {
        samples: rows({ ...recorded, logprobs }, ['logprobs']),
        totals: tokenTotals(logprobs.map(row => row.length)),
        options: {},
      },
      value: recorded.value,
      gradients: { logprobs: trained('gradLogprobs') },
    }
  },
}

/** A list of losses that has no reader is an error, not a list left out. */
export const goldenCases: readonly GoldenCase[] = Object.keys(lists)
  .filter(key => key.endsWith('Losses') || key === 'objectives')
  .flatMap(key => {
    const read = readers[key]
    if (!read) throw new Error(`golden-maths.ts does not read ${key}`)
    return lists[key]!.map(read)
  })

/** The recorded z0 of kto, which is a total and no result. */
export const goldenZ0: readonly { recorded: unknown; totals: object }[] = lists.ktoLosses!.map(recorded => ({
  recorded: recorded.z0,
  totals: readers.ktoLosses!(recorded).call.totals,
}))
