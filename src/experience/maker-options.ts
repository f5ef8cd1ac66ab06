/** The options of a maker: its models, engine, tokenizer and rewards. What cannot be used is an error at once, by its name. */
import type { DataRow, Prompt, PromptRow } from '../data/index.js'
import type { Environment, EpisodeOptions } from '../environment/index.js'
import type { KlController } from '../maths/index.js'
import type { MultimodalProcessor, PolicyVersion } from '../model/index.js'
import {
  type ResolvedRewardModels,
  type RewardEngineOptions,
  rewardModelsOf,
  rewardOptionNames,
} from '../reward/index.js'
import type { Generator } from '../rollout/index.js'
import type { Tokenizer } from '../text/index.js'
import {
  type ExperienceConfig,
  ExperienceConfigError,
  type ExperienceOptions,
  type GenerationOptions,
  structuredNeeds,
} from './config.js'
import type { Scorer } from './inference.js'
import { ModelTurns, noTurns, type Turns } from './model-turns.js'
import { promptLimit } from './prompts.js'
import { isResident, modelsOfRewards } from './reward-turns.js'
import type { RolloutJournal } from './rollout-journal.js'

type RewardOptions = Omit<RewardEngineOptions, 'tokenizer'>
type ResolvedRewardOptions = Omit<RewardOptions, 'rewardModel'> & { readonly rewardModel?: ResolvedRewardModels }

/** What makes prompts with images and videos ready. `placeholderIds` (of images, of videos) belong to no response: `mediaRepair`. */
type PromptProcessor = Pick<MultimodalProcessor, 'process'> & Partial<Pick<MultimodalProcessor, 'placeholderIds'>>

/** A null part is the same as a missing one. */
export interface FastExperienceMakerOptions extends ExperienceOptions, RewardOptions {
  /** Its log-probabilities are the ones that training starts from. */
  readonly actor: Scorer<'language'>
  /** What `gae` needs. */
  readonly critic?: Scorer<'value'> | null
  /** The model that KL is measured to; `adapter-off`: a LoRA actor without its adapter. */
  readonly reference?: Scorer<'language'> | 'adapter-off' | null
  /** Another name of `reference`. */
  readonly initialModel?: FastExperienceMakerOptions['reference']
  readonly tokenizer: Tokenizer
  /** Of a vision-language model: it makes prompts with images and videos ready. */
  readonly processor?: PromptProcessor | null
  /** The generator: an engine over the weights of the actor, or a server. */
  readonly generator: Generator
  /** Samples are episodes of this environment. Its rewards are added to the others, which may then be left out. */
  readonly environment?: Environment | null
  /** Limits of episodes. */
  readonly episode?: EpisodeOptions | null
  /** Default: fixed, with a coefficient of 0.01 where there is a reference. */
  readonly klController?: KlController
  /** Who has the device when. Default: as `enableEngineSleep` says. */
  readonly turns?: Turns
}

/** The options with one name for each part, and without those that are null. */
export type MakerParts = Omit<
  FastExperienceMakerOptions,
  'critic' | 'reference' | 'initialModel' | 'processor' | 'environment' | 'episode'
> & {
  readonly environment?: Environment
  readonly episode?: EpisodeOptions
  readonly processor?: PromptProcessor
  readonly critic?: Scorer<'value'>
  readonly reference?: Scorer<'language'> | 'adapter-off'
}

export interface MakeOptions<Row = DataRow> extends GenerationOptions {
  /** Discount per token, for this call. Default: the maker's. */
  readonly gamma?: number
  /** GAE's lambda, for this call. Default: the maker's. */
  readonly lambd?: number
  /** Fresh prompts for groups that were dropped. */
  readonly morePrompts?: Iterable<Prompt | PromptRow<Row>> | AsyncIterable<Prompt | PromptRow<Row>>
  /**
   * `evaluation` does not change the running statistics and the KL coefficient, and keeps every group: groups with equal rewards
   * are not replaced. Default `training`.
   */
  readonly purpose?: 'training' | 'evaluation'
  /** Samples of each prompt in an evaluation. Default 1. */
  readonly evaluationSamples?: number
  /**
   * `skip` does not score the log-probabilities of the actor. Use it if exactly one optimiser step follows (it computes the same
   * numbers), no importance weights are used, and KL is not part of the rewards. The trainer then measures KL. Default `score`.
   */
  readonly oldLogprobs?: 'score' | 'skip'
  /** Groups with a sample whose first token came from older weights are dropped as stale. Default: of any age. */
  readonly oldestVersion?: PolicyVersion
  readonly journal?: RolloutJournal
  readonly signal?: AbortSignal
  /** Told how far each stage has come. */
  readonly onProgress?: ((progress: MakeProgress) => void) | undefined
}

/** Samples of a stage that are done. */
export interface MakeProgress {
  readonly stage: 'generating' | 'rewards' | 'actor' | 'reference' | 'critic'
  readonly done: number
  readonly total: number
}

interface Part {
  /** A method that it must have. */
  readonly method: string
  readonly expected: string
  readonly needed: 'always' | 'optional'
  /** A word that stands for it. */
  readonly word?: string
}

const model = (role: string): string => `a model, such as await LocalModel.load(directory, { role: '${role}' })`

const language: Part = {
  method: 'score',
  expected: `${model('language')}, or 'adapter-off'`,
  needed: 'optional',
  word: 'adapter-off',
}

const parts: Readonly<Record<string, Part>> = {
  actor: { method: 'score', expected: model('language'), needed: 'always' },
  tokenizer: { method: 'encode', expected: 'a tokenizer, such as await Tokenizer.load(directory)', needed: 'always' },
  generator: {
    method: 'generate',
    expected: 'a generator, such as new LocalEngine(actor, { tokenizer })',
    needed: 'always',
  },
  critic: { method: 'score', expected: model('value'), needed: 'optional' },
  processor: {
    method: 'process',
    expected: 'a processor, such as await MultimodalProcessor.load(directory, { encode })',
    needed: 'optional',
  },
  reference: language,
  initialModel: language,
  environment: {
    method: 'open',
    expected: 'an environment, such as toolEnvironment({ tools })',
    needed: 'optional',
  },
}

/**
 * The options without those that are null, which stand for "none", and with one name for the reference. A part that cannot be
 * used is an error that names it.
 */
export function checkedParts(options: FastExperienceMakerOptions): MakerParts {
  if (typeof options !== 'object' || options === null)
    throw new ExperienceConfigError(['expected an object of options: actor, tokenizer, generator, and a reward'])
  const given: Record<string, unknown> = Object.fromEntries(
    Object.entries(options).filter(([name, value]) => value !== null || !(name in parts)),
  )
  const problems = Object.entries(parts).flatMap(([name, { method, expected, needed, word }]) => {
    const value = given[name]
    if (value === undefined) return needed === 'always' ? [`${name}: is missing; expected ${expected}`] : []
    return value === word || hasMethod(value, method) ? [] : [`${name}: expected ${expected}, got ${shown(value)}`]
  })
  const { initialModel, reference = initialModel, ...rest } = given
  if (initialModel !== undefined && given.reference !== undefined)
    problems.push('initialModel: is another name of reference; give one of the two')
  if (problems.length > 0) throw new ExperienceConfigError(problems)
  return (reference === undefined ? rest : { ...rest, reference }) as unknown as MakerParts
}

function hasMethod(value: unknown, method: string): boolean {
  return typeof value === 'object' && value !== null && typeof (value as Record<string, unknown>)[method] === 'function'
}

function shown(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value)
  return Array.isArray(value) ? 'a list' : typeof value === 'object' ? 'another object' : `${value}`
}

type TurnParts = Pick<FastExperienceMakerOptions, 'actor' | 'critic' | 'reference' | 'generator' | 'tokenizer'> &
  Pick<RewardOptions, 'rewardModel' | 'sources'>

/** Turns on the device of all models that a maker uses; without `enableEngineSleep` the device holds all of them. */
export function turnsOf(parts: TurnParts, { enableEngineSleep }: { readonly enableEngineSleep: boolean }): Turns {
  const { generator, actor, critic, reference, sources = [] } = parts
  if (!enableEngineSleep) return noTurns(generator)
  const rewardModel = rewardModelsOf(parts.rewardModel, parts.tokenizer)
  const judges = modelsOfRewards({ sources, ...(rewardModel ? { rewardModel } : {}) })
  return new ModelTurns({ generator, actor, models: [critic, reference, ...judges].filter(isResident) })
}

/** What models and engine cannot do of what the config asks. */
export function checkCapabilities(
  { actor, reference, generator, klController }: MakerParts,
  config: ExperienceConfig,
): void {
  const problems: string[] = []
  if (reference === 'adapter-off' && !actor.capabilities.adapterOff)
    problems.push('reference: adapter-off needs an actor with an adapter, and this actor has none; give a model')
  if (reference === undefined && klController !== undefined && klController.coef !== 0)
    problems.push('klController: KL needs a reference; give one')
  if (config.highEntropyTokenRatio > 0 && !actor.capabilities.entropy)
    problems.push('highEntropyTokenRatio: this actor computes no entropies')
  const form = config.structured?.kind
  if (form !== undefined && !generator.capabilities.structured.includes(form))
    problems.push(`structured: this generator does not support ${form}; ${structuredNeeds}`)
  if (config.stop.length > 0 && !generator.capabilities.text)
    problems.push('stop: stop texts need a tokenizer, and this generator has none')
  if (config.enableEngineSleep && !generator.capabilities.sleep)
    problems.push('enableEngineSleep: this generator cannot sleep')
  if (promptLimit(config, generator.maxLength) < 1) problems.push(noRoom(config, generator))
  else if (config.promptMaxLen !== undefined && config.promptMaxLen >= generator.maxLength)
    problems.push(
      `promptMaxLen: ${config.promptMaxLen} leaves no room for a response; sequences of the engine have at most ${generator.maxLength} tokens`,
    )
  if (problems.length > 0) throw new ExperienceConfigError(problems)
}

export const noRoom = ({ maxNewTokens }: ExperienceConfig, { maxLength }: Generator): string =>
  `maxNewTokens: ${maxNewTokens} leaves no room for a prompt; sequences of the engine have at most ${maxLength} tokens. Lower it, or set promptMaxLen`

const partNames = new Set([
  'actor',
  'critic',
  'reference',
  'tokenizer',
  'processor',
  'generator',
  'klController',
  'turns',
  'environment',
  'episode',
])
const rewardNames = new Set<string>(rewardOptionNames)

/** Splits one flat list of options into models, rewards and the rest; unknown options stay in the rest and are refused there. */
export function divided(options: MakerParts): { own: ExperienceOptions; rewards: ResolvedRewardOptions } {
  const own: Record<string, unknown> = {}
  const rewards: Record<string, unknown> = {}
  for (const [name, value] of Object.entries(options)) {
    if (partNames.has(name) || value === undefined) continue
    const target = rewardNames.has(name) ? rewards : own
    target[name] = value
  }
  const { rewardModel: _, ...others } = rewards
  const models = rewardModelsOf(options.rewardModel, options.tokenizer)
  return { own, rewards: { ...others, ...(models ? { rewardModel: models } : {}) } }
}
