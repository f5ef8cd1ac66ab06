/** Options of a training in rows that have every pair of levels of two factors, but those that the checks of a config refuse. */
import { InputError } from '../../src/errors/index.js'
import { resolveRlConfig } from '../../src/train/rl/index.js'
import { allPairs, coverPairs, nameOf, pairsOf, type Row } from '../train/rl/covering.js'

export type Options = Readonly<Record<string, unknown>>

export interface Factor {
  readonly name: string
  /** The first one asks for nothing. */
  readonly levels: Readonly<Record<string, Options>>
}

interface CoveredOptions {
  /** Each with its levels as title. */
  readonly rows: readonly (readonly [string, Options])[]
  /** Pairs of factors that exclude each other, in order. */
  readonly refused: readonly string[]
  /** Pairs of levels that are neither in a row nor refused. */
  readonly missing: readonly unknown[]
}

/** `configOf`: what the config of a run has in place of the options of a row. */
export function coveredOptions(
  factors: readonly Factor[],
  base: Options,
  configOf: (options: Options) => Options,
): CoveredOptions {
  const levelsOf = (row: Row) => row.map((level, factor) => Object.entries(factors[factor]!.levels)[level]!)
  const optionsOf = (row: Row): Options => Object.assign({}, base, ...levelsOf(row).map(([, options]) => options))
  const accepts = (row: Row): boolean => {
    try {
      resolveRlConfig([{ origin: 'row', values: { ...configOf(optionsOf(row)), output: 'none' } }])
      return true
    } catch (error) {
      if (error instanceof InputError) return false
      throw error
    }
  }
  const sizes = factors.map(({ levels }) => Object.keys(levels).length)
  const { rows, refused } = coverPairs(sizes, accepts)
  const known = new Set([...rows.flatMap(pairsOf), ...refused].map(nameOf))
  const titleOf = (row: Row): string =>
    levelsOf(row)
      .map(([name]) => name)
      .join(', ')
  const excluded = refused.map(({ factors: pair }) => pair.map(factor => factors[factor]!.name).join(' and '))
  return {
    rows: rows.map(row => [titleOf(row), optionsOf(row)] as const),
    refused: [...new Set(excluded)].sort(),
    missing: allPairs(sizes).filter(pair => !known.has(nameOf(pair))),
  }
}
