/** Options of a reward engine, checked together before the first call. */
import { z } from 'zod'
import { schemaProblems } from '../errors/index.js'
import type { Tokenizer } from '../text/index.js'
import type { RewardFn, RewardFnLabelMap } from './aggregator.js'
import { RewardConfigError } from './errors.js'
import { type CustomRewardFunc, customReward } from './function-source.js'
import { modelReward } from './model-source.js'
import { checkNames, checkRecipe, checkWeights, type RewardRecipe, recipeSchema, weightsSchema } from './recipe.js'
import { remoteReward } from './remote/remote-source.js'
import { type RewardModels, rewardModelsOf } from './reward-models.js'
import { plainRules } from './rules/index.js'
import type { RewardSource } from './source.js'
import type { QueueEvents } from './source-queue.js'

/** `null`, like `None` in Python, is the same as a missing option. */
export interface RewardEngineOptions extends QueueEvents {
  /** Sources from `sampleReward`, `defineReward`, `modelReward`, `remoteReward`, a rule, or your own. */
  readonly sources?: readonly RewardSource[]
  /** Local reward models, bare or with a tokenizer of their own: one, a list, or by name. */
  readonly rewardModel?: RewardModels
  /** The policy's tokenizer: reward models with the same one get the ids it sampled. */
  readonly tokenizer?: Tokenizer
  /** Remote reward models in LightRFT's dialect (http, https) or KServe's (grpc, grpcs): one, a list of different ones, or by name. */
  readonly remoteRmUrl?: string | readonly string[] | Readonly<Record<string, string>> | null
  /** LightRFT's `(queries, prompts, labels)`. */
  readonly customRewardFunc?: CustomRewardFunc | null
  /** Aggregator of LightRFT: combines the outputs of the sources to one reward, or computes it from the samples. */
  readonly rewardFn?: RewardFn | null
  /** Names of the sources by their place: reward models, then remote ones, then `customRewardFunc`, then `sources`. */
  readonly rewardFnLabelMap?: RewardFnLabelMap | null
  /** By a sample's label, which sources its reward is made of. */
  readonly rewardRecipe?: RewardRecipe | null
  /** For every sample: the weight of each source. */
  readonly weights?: Readonly<Record<string, number>>
  /**
   * `drop` (default): a sample whose reward failed is a failed outcome. `retry`: its failed sources are called again first,
   * `failureRetries` times. `stop`: the first failure stops the run.
   */
  readonly onRewardFailure?: 'drop' | 'stop' | 'retry'
  /** Default 2. */
  readonly failureRetries?: number
  /**
   * How long to wait for a remote source that does not answer, before its samples fail. Default 0; `rl` and `experience` wait 10
   * minutes by default.
   */
  readonly patienceMinutes?: number
  /** Report a source that blocks the event loop longer than this in one call. Default 50. */
  readonly blockedMs?: number
}

/** How rewards of sources become one. */
export type Combination =
  | { readonly kind: 'weights'; readonly weights: ReadonlyMap<string, number> }
  | { readonly kind: 'recipe'; readonly recipe: RewardRecipe }
  | {
      readonly kind: 'aggregator'
      readonly rewardFn: RewardFn
      readonly labelMap: RewardFnLabelMap
      readonly recipe: RewardRecipe | undefined
    }

export interface ResolvedRewards {
  readonly sources: readonly RewardSource[]
  readonly combination: Combination
  readonly onRewardFailure: 'drop' | 'stop' | 'retry'
  readonly failureRetries: number
  readonly patienceMinutes: number
  readonly blockedMs: number
}

const isFunction = <T>(what: string) => z.custom<T>(value => typeof value === 'function', { error: `expected ${what}` })
const anything = <T>() => z.custom<T>(value => value !== undefined)
const optionShape = {
  sources: z.array(
    z.custom<RewardSource>(
      value => typeof value === 'object' && value !== null && 'score' in value && 'limits' in value && 'name' in value,
      { error: 'expected a reward source, such as sampleReward(fn) or remoteReward({ ... })' },
    ),
  ),
  rewardModel: anything<RewardModels>(),
  tokenizer: anything<Tokenizer>(),
  remoteRmUrl: z.union([z.string(), z.array(z.string()), z.record(z.string(), z.string())], {
    error: 'expected a URL, a list of URLs, or URLs by name',
  }),
  customRewardFunc: isFunction<CustomRewardFunc>('a function (queries, prompts, labels) => rewards'),
  rewardFn: isFunction<RewardFn>(
    'a function (modelRewardList, labels, queries, refs, labelMap) => { rewards, metrics }',
  ),
  rewardFnLabelMap: z.record(z.string(), z.int().min(0)),
  rewardRecipe: recipeSchema,
  weights: weightsSchema,
  onRewardFailure: z.enum(['drop', 'stop', 'retry']),
  failureRetries: z.int().min(0),
  patienceMinutes: z.number().min(0),
  blockedMs: z.number().positive(),
  onLate: isFunction<NonNullable<QueueEvents['onLate']>>('a function'),
  onBlocked: isFunction<NonNullable<QueueEvents['onBlocked']>>('a function'),
  onAway: isFunction<NonNullable<QueueEvents['onAway']>>('a function'),
}
const optionSchema = z.strictObject(optionShape).partial()

/** Names of the options, for callers that accept them among others. */
export const rewardOptionNames = Object.keys(optionShape) as (keyof RewardEngineOptions)[]

export function resolveRewards(given: RewardEngineOptions): ResolvedRewards {
  return resolveGiven(withoutNulls(given))
}

type GivenRewards = { readonly [Name in keyof RewardEngineOptions]: NonNullable<RewardEngineOptions[Name]> }

function withoutNulls(options: RewardEngineOptions): GivenRewards {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== null)) as GivenRewards
}

function resolveGiven(options: GivenRewards): ResolvedRewards {
  const result = optionSchema.safeParse(options)
  if (!result.success)
    throw new RewardConfigError(`rewards: ${schemaProblems(result.error, { known: rewardOptionNames }).join('; ')}`)
  const given = collectSources(options)
  const sources = [...given, ...rulesNamedIn(options.rewardRecipe, given)]
  checkNames(sources)
  if (sources.length === 0 && !options.rewardFn)
    throw new RewardConfigError('no reward: give a source, rewardModel, remoteRmUrl, customRewardFunc or rewardFn')
  if (options.rewardRecipe) checkRecipe(options.rewardRecipe, sources)
  return {
    sources,
    combination: combinationOf(options, sources),
    onRewardFailure: options.onRewardFailure ?? 'drop',
    failureRetries: options.failureRetries ?? 2,
    patienceMinutes: options.patienceMinutes ?? 0,
    blockedMs: options.blockedMs ?? 50,
  }
}

function combinationOf(options: GivenRewards, sources: readonly RewardSource[]): Combination {
  const { rewardFn, rewardRecipe, weights } = options
  if (weights && (rewardFn || rewardRecipe))
    throw new RewardConfigError(`give weights or ${rewardFn ? 'rewardFn' : 'rewardRecipe'}, not both`)
  if (rewardFn) {
    // Sources are at the indices of the given map; rules that only the recipe names come after them.
    const labelMap = Object.fromEntries(sources.map(({ name }, i) => [name, i]))
    return { kind: 'aggregator', rewardFn, labelMap, recipe: rewardRecipe }
  }
  if (rewardRecipe) return { kind: 'recipe', recipe: rewardRecipe }
  if (weights) {
    checkWeights(weights, sources)
    return { kind: 'weights', weights: new Map(Object.entries(weights)) }
  }
  if (sources.length > 1)
    throw new RewardConfigError(
      `${sources.length} reward sources (${sources.map(({ name }) => name).join(', ')}) need weights, a rewardRecipe, or a rewardFn that combines them to one reward`,
    )
  return { kind: 'weights', weights: new Map([[sources[0]!.name, 1]]) }
}

/** In the order `rewardFnLabelMap` counts them. */
function collectSources(options: GivenRewards): RewardSource[] {
  const { rewardModel, remoteRmUrl, customRewardFunc, sources = [], tokenizer } = options
  const makers: { name: string | undefined; usual: string; make: (name: string) => RewardSource }[] = [
    ...named(rewardModelsOf(rewardModel, tokenizer), 'rewardModel', value => 'model' in value).map(
      ({ value, ...rest }) => ({
        ...rest,
        make: (name: string) =>
          modelReward({ ...value, name, ...(tokenizer === undefined ? {} : { policyTokenizer: tokenizer }) }),
      }),
    ),
    ...named(remoteRmUrl, 'remoteRm', value => typeof value === 'string').map(({ value: url, ...rest }) => ({
      ...rest,
      make: (name: string) => remoteReward({ name, url }),
    })),
    ...(customRewardFunc
      ? [
          {
            name: undefined,
            usual: 'customRewardFunc',
            make: (name: string) => customReward(customRewardFunc, { name }),
          },
        ]
      : []),
    ...sources.map(source => ({ name: source.name, usual: source.name, make: () => source })),
  ]
  const places = placesOf(options.rewardFnLabelMap, makers.length)
  return makers.map(({ name, usual, make }, place) => {
    const mapped = places.get(place)
    if (name !== undefined && mapped !== undefined && name !== mapped)
      throw new RewardConfigError(`rewardFnLabelMap: entry ${place} is "${mapped}", but the source is called "${name}"`)
    return make(name ?? mapped ?? usual)
  })
}

function named<T>(
  given: T | readonly T[] | Readonly<Record<string, T>> | undefined,
  usual: string,
  isOne: (value: T) => boolean,
): { name: string | undefined; usual: string; value: T }[] {
  if (given === undefined) return []
  if (Array.isArray(given)) return given.map((value: T, i) => ({ name: undefined, usual: `${usual}${i}`, value }))
  if (isOne(given as T)) return [{ name: undefined, usual, value: given as T }]
  return Object.entries(given as Readonly<Record<string, T>>).map(([name, value]) => ({ name, usual, value }))
}

/** Names by place, each place once and none left out. */
function placesOf(labelMap: RewardFnLabelMap | undefined, count: number): Map<number, string> {
  if (!labelMap) return new Map()
  const places = new Map(Object.entries(labelMap).map(([name, place]) => [place, name]))
  const entries = Object.keys(labelMap).length
  if (entries !== count || places.size !== count || [...places.keys()].some(place => place >= count))
    throw new RewardConfigError(
      `rewardFnLabelMap: ${entries} names for ${count} reward sources; give one name for each index from 0 to ${count - 1}`,
    )
  return places
}

function rulesNamedIn(recipe: RewardRecipe | undefined, sources: readonly RewardSource[]): RewardSource[] {
  const names = new Set(
    Object.values(recipe ?? {})
      .flat()
      .filter(([kind]) => kind === 'rule')
      .map(([, name]) => name),
  )
  return [...names].flatMap(name =>
    !sources.some(source => source.name === name) && Object.hasOwn(plainRules, name) ? [plainRules[name]!()] : [],
  )
}
