/** A model measured, and the pipeline run: functions of the same style over rooms of their own. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import type { Environment, Tool } from '../environment/index.js'
import { type EvaluationOptions, type EvaluationResult, evaluateModel } from '../evaluate/index.js'
import {
  createRlhfPipeline,
  getDefaultConfig,
  type PipelineOptions,
  type PipelineResult,
  type RunOptions as PipelineRunOptions,
  type PipelineSettings,
  type RlhfPipeline,
  type StageName,
} from '../pipeline/index.js'
import { givenParts, givenRows } from './live-parts.js'
import type { Data, Model } from './train.js'

/** The options of an evaluation, with rows and models of the program in place of files. */
export type EvaluateOptions<Row extends object = object> = Omit<
  EvaluationOptions,
  'model' | 'reference' | 'data' | 'environment' | 'tools' | 'live'
> & {
  /** Answers are episodes of this environment: a file, or one of the program. */
  readonly environment?: EvaluationOptions['environment'] | Environment
  /** Answers are episodes with these tools: names, files, or tools of the program. */
  readonly tools?: EvaluationOptions['tools'] | readonly Tool[]

  readonly model: Model<'language'>
  readonly reference?: Model<'language'> | undefined
  readonly data: Data<Row>
}

/**
 * Measures a model: perplexity, reward, accuracy, win rate, BLEU and ROUGE-L, as the data and the reward allow.
 *
 * @example
 * const { evaluation } = await evaluate({ model: 'model', data: [{ prompt: 'What is 2 + 2?', target: '4' }] })
 */
export async function evaluate<Row extends object>(options: EvaluateOptions<Row>): Promise<EvaluationResult> {
  const { signal, report, ...given } = options
  const directory = await mkdtemp(join(tmpdir(), 'whetstone-evaluate-'))
  try {
    const { values, live, place } = givenParts(given, directory)
    await place({ existing: 'replace', allowChange: [], signal })
    const { environment } = live
    const around = {
      ...(environment ? { live: { environment } } : {}),
      ...{ ...(signal ? { signal } : {}), ...(report ? { report } : {}) },
    }
    return await evaluateModel({ ...(values as unknown as EvaluationOptions), ...around })
  } finally {
    await rm(directory, { recursive: true, force: true })
  }
}

/** Options of the pipeline that name data. */
const dataOptions = ['sftDataPath', 'rewardDataPath', 'ppoDataPath'] as const

/** The options of a pipeline, with rows of the program in place of files. */
type PipelineGiven = Pick<PipelineOptions, Exclude<keyof PipelineOptions, (typeof dataOptions)[number]>> & {
  readonly [option in (typeof dataOptions)[number]]?: Data
}

/** How a pipeline runs. */
type PipelineRun = PipelineSettings & PipelineRunOptions & { readonly stages?: readonly StageName[] }

/**
 * SFT, a reward model and PPO, one after another; stages that are done are skipped. Rows are written into `saveDir` first: a stage
 * whose rows have changed is not done.
 *
 * @example
 * const { model } = await pipeline({ baseModel: 'model', sftDataPath: 'conversations.jsonl', saveDir: 'rlhf' })
 */
export function pipeline(config: PipelineOptions | string | URL, options?: PipelineRun): Promise<PipelineResult>
export function pipeline(config: PipelineGiven, options?: PipelineRun): Promise<PipelineResult>
export async function pipeline(
  config: PipelineOptions | PipelineGiven | string | URL,
  { resume = false, allowChange = [], signal = new AbortController().signal, stages, ...settings }: PipelineRun = {},
): Promise<PipelineResult> {
  const made = await openPipeline(config, settings, signal)
  return made.runFullPipeline({ resume, allowChange, signal, ...(stages ? { stages } : {}) })
}

/** The pipeline that a run or a dry run is of; rows of a program are files then. */
export async function openPipeline(
  config: PipelineOptions | PipelineGiven | string | URL,
  settings: PipelineSettings,
  signal: AbortSignal,
): Promise<RlhfPipeline> {
  if (typeof config === 'string' || config instanceof URL) return createRlhfPipeline(config, settings)
  const directory = resolve(config.saveDir ?? getDefaultConfig().saveDir)
  const { values, place } = givenRows({ ...config }, dataOptions, directory)
  const made = await createRlhfPipeline(values as PipelineOptions, settings)
  await place(signal)
  return made
}
