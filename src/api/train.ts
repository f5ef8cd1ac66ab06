/** The trainings as functions: the options of their config files, with live things in place of files. */
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import type { DataSpec } from '../data/index.js'
import type { Environment, Tool } from '../environment/index.js'
import { InputError } from '../errors/index.js'
import { LocalModel, type MultimodalProcessor, type Role, type TokenModel } from '../model/index.js'
import { type Report, silentReport } from '../progress/index.js'
import type { Generator } from '../rollout/index.js'
import type { Tokenizer } from '../text/index.js'
import {
  type GeneratorDefinition,
  loadDefinitions,
  type PreferencePlain,
  type RewardModelPlain,
  type RlInput,
  type RlPlain,
  type RlPlainCritic,
  type RlPlainPtx,
  type SftPlain,
  type Training,
  type TrainingName,
  trainings,
} from '../train/index.js'
import { givenParts } from './live-parts.js'
import type { Rewards, RowOf } from './reward-parts.js'
import { runTraining } from './run-training.js'
import type { Rows } from './spool-rows.js'
import { TrainingRun } from './training-run.js'

/** Files and patterns as in a config, or rows. */
export type Data<Row extends object = object> = DataSpec | Rows<Row>

/** A model directory, or a model of the program, which the run trains in place and does not dispose. */
export type Model<R extends Role> = string | TokenModel<R>

/** Beside the options of a config. */
export interface RunOptions {
  /** The run directory. Default: a new one among the temporary ones. */
  readonly output?: string
  /** In place of the one in the model's directory. */
  readonly tokenizer?: Tokenizer
  /** What makes images and videos ready, in place of the one in the model's directory. */
  readonly processor?: MultimodalProcessor
  /** A soft stop: the current optimiser step is finished, a checkpoint saved, and the result says `stopped`. */
  readonly signal?: AbortSignal
  /** Go on with the run in `output`. */
  readonly resume?: boolean
  /** Options that a resumed run may have otherwise; `dataset` stands for rows. */
  readonly allowChange?: readonly string[]
  /** Shows people how it goes. Default: nothing; the events say it all. */
  readonly report?: Report
}

interface OnRows<Row extends object> {
  /** Training data: a file or a glob pattern, a source with settings, a list of these, or rows (any iterable of objects). */
  readonly data: Data<Row>
  /** Held-out data, in the same forms. */
  readonly validationData?: Data<Row>
}

interface OfModel<R extends Role> {
  /** The model to train: a Hugging Face model directory, or a model of the program, which is trained in place. */
  readonly model: Model<R>
}

interface WithReference {
  /** The reference: the model that KL is measured to. A directory, or a model of the program. */
  readonly reference?: Model<'language'>
}

export interface SftOptions<Row extends object = object>
  extends SftPlain,
    OnRows<Row>,
    OfModel<'language'>,
    RunOptions {}

export interface RewardModelOptions<Row extends object = object>
  extends RewardModelPlain,
    OnRows<Row>,
    OfModel<'reward'>,
    RunOptions {}

export interface DpoOptions<Row extends object = object>
  extends PreferencePlain,
    OnRows<Row>,
    OfModel<'language'>,
    WithReference,
    RunOptions {}

interface CriticOptions extends RlPlainCritic {
  /** Initial critic: a directory, or a model of the program. Default: the trained model with a new value head of zeros. */
  readonly model?: Model<'value'>
}

interface PtxOptions extends RlPlainPtx {
  /** Conversations or texts, as for SFT: files, or rows. */
  readonly data: Data
}

interface RolloutOptions<Row extends object>
  extends RlPlain,
    OnRows<Row>,
    OfModel<'language'>,
    WithReference,
    RunOptions {
  /** Options of the critic, which the estimator gae needs. */
  readonly critic?: CriticOptions
  /** Supervised data that every update also trains on. */
  readonly ptx?: PtxOptions
  /** The engine that generates the samples: settings as in a config, a definition, or a generator of the program. */
  readonly generator?: RlInput['generator'] | GeneratorDefinition | Generator
}

interface ScoredOptions<Row extends object> extends RolloutOptions<Row> {
  /** A reward: a file, a function of one sample, a source such as `defineReward(...)` gives, or a list of them. */
  readonly rewards: Rewards<Row>
  /** Samples are episodes of this environment: a file, or an environment of the program. It may give the rewards. */
  readonly environment?: RlInput['environment'] | Environment<RowOf<Row>>
  /** Tools that the model may call before it answers: names and files, or tools of the program. */
  readonly tools?: RlInput['tools'] | readonly Tool[]
}

/** Rewards may be left out where an environment gives them. */
interface PlayedOptions<Row extends object> extends RolloutOptions<Row> {
  /** A reward: a file, a function of one sample, a source such as `defineReward(...)` gives, or a list of them. */
  readonly rewards?: Rewards<Row>
  /** Samples are episodes of this environment: a file, or an environment of the program. It may give the rewards. */
  readonly environment: RlInput['environment'] | Environment<RowOf<Row>>
}

/** Options of `rl` whose preset is given: those of `grpo` and `ppo`. */
type PresetOptions<Row extends object = object> = ScoredOptions<Row> | PlayedOptions<Row>

export type RlOptions<Row extends object = object> = PresetOptions<Row> & {
  /** Preset of options, or your own (`defineAlgorithm`, or its file); options that are given here win. @defaultValue `"grpo"` */
  readonly algorithm?: RlInput['algorithm']
}

/**
 * Supervised fine-tuning: the model learns to answer as the assistant does.
 *
 * @example
 * const rows = [{ prompt: 'What is 2 + 2?', completion: '4' }]
 * const { models } = await sft({ model: 'model', data: rows, epochs: 3 })
 */
export function sft<Row extends object>(options: SftOptions<Row>): TrainingRun {
  return train('sft', 'sft', options)
}

/**
 * A reward model from pairs of answers.
 *
 * @example
 * const rows = [{ prompt: 'What is 2 + 2?', chosen: '4', rejected: '5' }]
 * const { models } = await rewardModel({ model: 'model', data: rows })
 */
export function rewardModel<Row extends object>(options: RewardModelOptions<Row>): TrainingRun {
  return train('reward', 'rewardModel', options)
}

/**
 * A model from preferences, without a reward model; `loss` is dpo, cdpo, ipo or kto.
 *
 * @example
 * const rows = [{ prompt: 'What is 2 + 2?', chosen: '4', rejected: '5' }]
 * const { models } = await dpo({ model: 'model', data: rows, beta: 0.1 })
 */
export function dpo<Row extends object>(options: DpoOptions<Row>): TrainingRun {
  return train('preference', 'dpo', options)
}

/**
 * Reinforcement learning; `algorithm` is a preset.
 *
 * @example
 * const rows = [{ prompt: 'What is 2 + 2?', answer: '4' }]
 * const run = rl({ algorithm: 'rloo', model: 'model', data: rows, rewards: ({ response, row }) => (response === row.answer ? 1 : 0) })
 */
export function rl<Row extends object>(options: RlOptions<Row>): TrainingRun {
  return train('rl', 'rl', options)
}

/**
 * Group relative policy optimisation: samples of a prompt are compared with each other.
 *
 * @example
 * const rows = [{ prompt: 'What is 2 + 2?', answer: '4' }]
 * const run = grpo({ model: 'model', data: rows, rewards: ({ response, row }) => (response === row.answer ? 1 : 0) })
 * for await (const event of run) if (event.kind === 'step') console.log(event.step, event.metrics['reward/mean'])
 */
export function grpo<Row extends object>(options: ScoredOptions<Row>): TrainingRun
export function grpo<Row extends object>(options: PlayedOptions<Row>): TrainingRun
export function grpo<Row extends object>(options: PresetOptions<Row>): TrainingRun {
  return train('rl', 'grpo', { ...options, algorithm: 'grpo' })
}

/**
 * Proximal policy optimisation, with a critic.
 *
 * @example
 * const run = ppo({ model: 'model', data: 'prompts.jsonl', rewards: 'reward.ts', critic: { warmupIterations: 5 } })
 */
export function ppo<Row extends object>(options: ScoredOptions<Row>): TrainingRun
export function ppo<Row extends object>(options: PlayedOptions<Row>): TrainingRun
export function ppo<Row extends object>(options: PresetOptions<Row>): TrainingRun {
  return train('rl', 'ppo', { ...options, algorithm: 'ppo' })
}

function train(name: TrainingName, verb: string, options: RunOptions & { readonly algorithm?: unknown }): TrainingRun {
  const { signal, resume = false, allowChange = [], report = silentReport, output, ...given } = options
  const training: Training = trainings[name]
  return new TrainingRun(async emit => {
    if (resume && output === undefined) throw new InputError(`${verb}: resume: needs output, the directory of the run`)
    const directory = resolve(output ?? (await mkdtemp(join(tmpdir(), `whetstone-${verb}-`))))
    const { values, live, place } = givenParts(given, directory)
    // Models that the run loads are like the one that it is given.
    const like = live.model instanceof LocalModel ? { dtype: live.model.dtype } : {}
    const layer = { origin: verb, values: { ...like, ...values, output: directory }, directory: process.cwd() }
    const start = { training, ...training.resolve(await loadDefinitions([layer])), live, resume, allowChange, report }
    const placed = (existing: 'replace' | 'compare') => place({ existing, allowChange, signal })
    return runTraining({ ...start, signal: signal ?? new AbortController().signal, place: placed }, emit)
  })
}
