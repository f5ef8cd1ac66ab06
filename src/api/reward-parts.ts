/** Rewards of a program: functions and sources as a reward engine takes them, and as text that says what they are. */
import { InputError } from '../errors/index.js'
import {
  type RewardAnswer,
  type RewardEngineOptions,
  type RewardInput,
  type RewardNames,
  type RewardRow,
  type RewardSource,
  sampleReward,
} from '../reward/index.js'

/** Rows of a file have any columns. */
export type RowOf<Row extends object> = object extends Row ? RewardRow : Row

/** A reward of one sample; `row` has the type of the rows. */
export interface RewardFunction<Row extends object = object> {
  (input: RewardInput<RowOf<Row>>, options: { signal: AbortSignal }): RewardAnswer | Promise<RewardAnswer>
  /** Recorded with the source text, for what the text does not show: values from outside that the function uses. JSON. */
  readonly version?: unknown
}

/**
 * What a config names (a file, a rule, the directory of a reward model), a function, a source, a list of any of these, or all options of
 * a reward engine. The rewards of a list are added.
 */
export type Rewards<Row extends object = object> =
  | RewardNames
  | RewardFunction<Row>
  | RewardSource
  | readonly (string | RewardFunction<Row> | RewardSource)[]
  | RewardEngineOptions

interface RewardParts {
  readonly options: RewardEngineOptions
  readonly text: string
  /** What the list names, beside what is in `options`. */
  readonly names: readonly string[]
}

/** Undefined where none are given. */
export function rewardParts(given: unknown): RewardParts | undefined {
  if (given === undefined) return undefined
  if (typeof given === 'function' || Array.isArray(given) || isSource(given)) {
    const list: unknown[] = [given].flat()
    const names = list.filter(one => typeof one === 'string')
    const sources = list.filter(one => typeof one !== 'string').map(sourceOf)
    return optionsOf({ sources, weights: Object.fromEntries(sources.map(({ name }) => [name, 1])) }, names)
  }
  if (typeof given !== 'object' || given === null)
    throw new InputError(
      'rewards: expected a file, a function of one sample, a source such as defineReward(...), or a list of them',
    )
  return optionsOf(given)
}

function optionsOf(options: RewardEngineOptions, names: readonly string[] = []): RewardParts {
  const { sources = [], weights, rewardRecipe, rewardFnLabelMap, remoteRmUrl, customRewardFunc, rewardFn } = options
  const functions = Object.entries({ customRewardFunc, rewardFn }).flatMap(([name, fn]) =>
    fn ? [`// ${name}\n${textOf(fn)}`] : [],
  )
  const described = sources.map(source => `// ${source.kind} ${source.name}\n${source.text ?? textOf(source.score)}`)
  const settings = JSON.stringify({ weights, rewardRecipe, rewardFnLabelMap, remoteRmUrl })
  // What a program made, a program closes.
  const kept = sources.map(source => ({ ...source, score: source.score.bind(source), close: async () => {} }))
  return {
    options: { ...options, sources: kept },
    text: `${[...described, ...functions, `// ${settings}`, ...names.map(name => `// named ${name}`)].join('\n\n')}\n`,
    names,
  }
}

function isSource(value: unknown): value is RewardSource {
  return typeof value === 'object' && value !== null && 'score' in value && 'limits' in value
}

function sourceOf(given: unknown, place: number): RewardSource {
  if (isSource(given)) return given
  if (typeof given !== 'function') throw new InputError(`rewards: expected a function or a source, got ${typeof given}`)
  const text = textOf(given)
  // A function that is written as the option has the option's name.
  const own = given.name === '' || given.name === 'rewards' ? 'reward' : given.name
  const source = sampleReward(given as RewardFunction as Parameters<typeof sampleReward>[0], {
    name: place === 0 || own !== 'reward' ? own : `reward${place + 1}`,
  })
  return { ...source, text }
}

/** A run is recorded with the text of its rewards, and one that is resumed is compared by it. */
function textOf(fn: { toString(): string; readonly name?: string; readonly version?: unknown }): string {
  const text = String(fn)
  if (/\{\s*\[native code\]\s*\}\s*$/.test(text))
    throw new InputError(
      `rewards: the source text of ${fn.name || 'a function'} cannot be read (it is bound or built in); wrap it in a function`,
    )
  const version = 'version' in fn && fn.version !== undefined ? JSON.stringify(fn.version) : undefined
  return version === undefined ? text : `${text}\n// version: ${version}`
}
