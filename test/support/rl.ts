/** A small world for reinforcement learning: a tiny model, prompts and a reward in files, and runs of a few iterations. */
import { readFileSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import type { Ranks } from '../../src/distributed/index.js'
import type { Report } from '../../src/progress/index.js'
import { loadDefinitions } from '../../src/train/config/definitions.js'
import { type RlConfig, resolveRlConfig, runRl } from '../../src/train/rl/index.js'
import type { JobResult } from '../../src/train/run/job.js'
import { jsonLines, jsonl, written } from './files.js'
import { type TinyShape, modelDirectory as tinyDirectory } from './tiny-model.js'

export const modelDirectory = (seed: number, shape: TinyShape = {}): Promise<string> =>
  tinyDirectory(seed, { context: 64, ...shape })

/** The share of vowels in the response. */
export const letterReward = written(
  'reward.mjs',
  `export default ({ response }) => [...response].filter(letter => 'aeiou'.includes(letter)).length / Math.max(8, response.length)\n`,
)

/** Pays by the sample's place, whatever it writes; the share of vowels is measured, and counts next to nothing. */
export const shuffledReward = written(
  'shuffled.mjs',
  `const limits = { batchSize: 64, concurrency: 1, deadlineMs: 60_000, retries: 0 }
const source = (name, reward) => ({ name, kind: 'function', limits, score: async items => items.map(reward) })
const vowels = ({ response }) => [...response].filter(letter => 'aeiou'.includes(letter)).length / Math.max(8, response.length)
const place = ({ sample, promptId }) => ((sample * 7 + promptId.charCodeAt(0) + promptId.charCodeAt(1)) % 8) / 8
export default { sources: [source('place', place), source('vowels', vowels)], weights: { place: 1, vowels: 1e-9 } }
`,
)

export const promptFile = (rows: number): string =>
  jsonl(
    Array.from({ length: rows }, (_, i) => ({ prompt: `Question ${i}:`, nr: i })),
    'prompts',
  )

/** The options of a run that takes about a second. */
export function quickly(options: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> {
  return {
    chatTemplate: 'none',
    iterations: 3,
    rolloutBatchSize: 2,
    nSamplesPerPrompt: 4,
    maxNewTokens: 8,
    saveSteps: 1,
    optimizer: { lr: 1e-3 },
    device: 'cpu',
    ...options,
  }
}

/** The same over a tiny model of random weights and a file of prompts. */
export async function smallRun(
  { seed, prompts, ...shape }: { seed: number; prompts: number } & TinyShape,
  options: Readonly<Record<string, unknown>> = {},
): Promise<Readonly<Record<string, unknown>>> {
  return quickly({
    model: await modelDirectory(seed, shape),
    data: promptFile(prompts),
    rewards: letterReward,
    ...options,
  })
}

/** Says nothing; `onStage` hears what a run is about to do: `generating`, `updating`, `saving`. */
const silentReport = (onStage: (stage: string) => void): Report => ({
  line() {},
  warn() {},
  transfer: () => ({ at() {}, end() {} }),
  live: () => {
    let now = ''
    const doing = (stage: string): void => {
      if (stage !== now) onStage(stage)
      now = stage
    }
    return { show() {}, doing, end() {} }
  },
})

export function configOf(options: Readonly<Record<string, unknown>>): RlConfig {
  return resolveRlConfig([{ origin: 'test', values: options }]).config
}

export interface StartOptions {
  resume?: boolean
  allowChange?: readonly string[]
  /** Asks the run to stop when it begins this stage for the first time. */
  stopAt?: string
  /** Asks it to stop at any moment. */
  stop?: AbortController
  /** Ranks that are there already. Default: one process. */
  ranks?: Ranks
}

export async function start(options: Readonly<Record<string, unknown>>, rest: StartOptions = {}): Promise<JobResult> {
  const { config, origins } = resolveRlConfig(await loadDefinitions([{ origin: 'test', values: options }]))
  const { resume = false, allowChange = [], stopAt, stop, ranks } = rest
  return runRl({ config, origins, resume, allowChange, ...stoppedAt(stopAt, stop), ...(ranks && { ranks }) })
}

/** A report and the signal that it stops its run with, at the first time of a stage. */
export function stoppedAt(
  stage: string | undefined,
  stop = new AbortController(),
): { report: Report; signal: AbortSignal } {
  const report = silentReport(now => {
    if (now === stage) stop.abort()
  })
  return { report, signal: stop.signal }
}

/** Bytes of the weights that a run ended with. */
export const finalWeights = (run: string, model = 'final_model'): Buffer =>
  readFileSync(join(run, model, 'model.safetensors'))

export interface MetricLine {
  step: number
  values: Record<string, number>
}

export const metricLines = (run: string): MetricLine[] => jsonLines(join(run, 'logs/metrics.jsonl'))

export const journalFiles = async (run: string): Promise<string[]> => (await readdir(join(run, 'journal'))).sort()
