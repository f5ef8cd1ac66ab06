/** Which sources make up the reward of a sample, with their weights. */
import { z } from 'zod'
import { didYouMean } from '../errors/index.js'
import { RewardConfigError } from './errors.js'
import { type SourceKind, sourceKinds } from './source.js'

/** A source by kind and name, and the weight of its reward. */
export type RecipeEntry = readonly [kind: SourceKind, name: string, weight: number]

/**
 * What the reward of a sample is made of, by the sample's label. A weight of 0 leaves the source out.
 *
 * @example
 * const recipe: RewardRecipe = {
 *   maths: [['rule', 'numeric-answer', 0.9], ['rule', 'format', 0.1]],
 *   chat: [['model', 'quality', 1], ['remote', 'safety', 0.5]],
 * }
 */
export type RewardRecipe = Readonly<Record<string, readonly RecipeEntry[]>>

export const recipeSchema: z.ZodType<RewardRecipe> = z.record(
  z.string(),
  z
    .array(
      z.tuple([z.enum(sourceKinds), z.string().min(1), z.number()], {
        error: 'expected [type, name, weight], such as ["rule", "format", 0.1]',
      }),
    )
    .min(1, { error: 'expected at least one [type, name, weight]' }),
)

/** The weight of each source in an ensemble. */
export const weightsSchema = z.record(z.string(), z.number())

interface Named {
  readonly name: string
  readonly kind: SourceKind
}

/** Every name unique. */
export function checkNames(sources: readonly Named[]): void {
  const seen = new Set<string>()
  for (const { name } of sources) {
    if (seen.has(name)) throw new RewardConfigError(`two reward sources are called "${name}"; names must be unique`)
    seen.add(name)
  }
}

/** Every name exists with the given kind, once per label, and each label has something to compute. */
export function checkRecipe(recipe: RewardRecipe, sources: readonly Named[]): void {
  const names = sources.map(({ name }) => name)
  for (const [label, entries] of Object.entries(recipe)) {
    const seen = new Set<string>()
    for (const [kind, name] of entries) {
      const where = `rewardRecipe.${label}: ["${kind}", "${name}", ...]`
      const source = sources.find(one => one.name === name)
      if (!source)
        throw new RewardConfigError(
          `${where}: there is no reward source "${name}"${didYouMean(name, names)} (there are: ${names.join(', ') || 'none'})`,
        )
      if (source.kind !== kind)
        throw new RewardConfigError(`${where}: "${name}" is a ${source.kind}; write ["${source.kind}", "${name}", ...]`)
      if (seen.has(name)) throw new RewardConfigError(`${where}: "${name}" is given twice; add the weights`)
      seen.add(name)
    }
    if (entries.every(([, , weight]) => weight === 0))
      throw new RewardConfigError(`rewardRecipe.${label}: every weight is 0; give at least one weight above 0`)
  }
}

/** A weight for every source and a source for every weight. */
export function checkWeights(weights: Readonly<Record<string, number>>, sources: readonly Named[]): void {
  const names = sources.map(({ name }) => name)
  for (const name of Object.keys(weights)) {
    if (!names.includes(name))
      throw new RewardConfigError(
        `weights.${name}: there is no reward source "${name}"${didYouMean(name, names)} (there are: ${names.join(', ') || 'none'})`,
      )
  }
  const missing = names.filter(name => weights[name] === undefined)
  if (missing.length > 0)
    throw new RewardConfigError(`weights: missing for ${missing.join(', ')}; give each source a weight (0: not used)`)
  if (names.every(name => weights[name] === 0))
    throw new RewardConfigError('weights: every weight is 0; give at least one weight above 0')
}

/** The recipe's entries for a label; a label it does not have is an error, not a reward of 0. */
export function entriesFor(recipe: RewardRecipe, label: string | undefined): readonly RecipeEntry[] {
  const entries = label === undefined || !Object.hasOwn(recipe, label) ? undefined : recipe[label]
  if (entries) return entries
  const labels = Object.keys(recipe)
  throw new RewardConfigError(
    label === undefined
      ? `a sample has no label, and the reward recipe needs one of: ${labels.join(', ')}`
      : `no reward recipe for the label "${label}"${didYouMean(label, labels)} (there are recipes for: ${labels.join(', ')})`,
  )
}
