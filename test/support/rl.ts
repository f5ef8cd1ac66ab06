/** A small world for reinforcement learning: a tiny model, prompts and a reward in files, and runs of a few iterations. */
import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { initModel, type ModelConfig, newConfig } from '../../src/model/index.js'
import type { Report } from '../../src/progress/index.js'
import { Tokenizer } from '../../src/text/index.js'
import { type RlConfig, resolveRlConfig, runRl } from '../../src/train/rl/index.js'
import type { JobResult } from '../../src/train/run/job.js'

export const tokenizerPath = new URL('../fixtures/tokenizer/', import.meta.url).pathname
export const tokenizer = await Tokenizer.load(tokenizerPath)

const folder = mkdtempSync(join(tmpdir(), 'whetstone-rl-'))

let count = 0
/** A path that nothing is at yet. */
export const fresh = (name: string): string => join(folder, `${name}-${count++}`)

export function written(name: string, text: string): string {
  const path = join(folder, `${count++}-${name}`)
  writeFileSync(path, text)
  return path
}

const shape = { hidden: 32, intermediate: 64, layers: 2, heads: 4, kvHeads: 2, headDim: 8, context: 64, tied: true }
const tinyConfig = (changes: Partial<typeof shape>): ModelConfig => {
  const config = newConfig('qwen2', { ...shape, ...changes, vocabSize: tokenizer.vocabSize })
  return { ...config, decoder: { ...config.decoder, initRange: 0.1 } }
}

export async function modelDirectory(seed: number, changes: Partial<typeof shape> = {}): Promise<string> {
  const out = fresh('model')
  const tokens = { bos: tokenizer.bosId, eos: tokenizer.eosId, pad: tokenizer.padId }
  await initModel({ config: tinyConfig(changes), seed, dtype: 'float32', tokenizer: tokenizerPath, tokens, out })
  return out
}

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
  written(
    'prompts.jsonl',
    Array.from({ length: rows }, (_, i) => `${JSON.stringify({ prompt: `Question ${i}:`, nr: i })}\n`).join(''),
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

/** Says nothing; `onStage` hears what a run is about to do: `generating`, `updating`, `saving`. */
const silentReport = (onStage: (stage: string) => void): Report => ({
  line() {},
  transfer: () => ({ at() {}, end() {} }),
  live: () => ({ show() {}, doing: onStage, end() {} }),
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
}

export function start(options: Readonly<Record<string, unknown>>, rest: StartOptions = {}): Promise<JobResult> {
  const { config, origins } = resolveRlConfig([{ origin: 'test', values: options }])
  const { resume = false, allowChange = [], stopAt, stop = new AbortController() } = rest
  const report = silentReport(stage => {
    if (stage === stopAt) stop.abort()
  })
  return runRl({ config, origins, resume, allowChange, report, signal: stop.signal })
}

/** Bytes of the weights that a run ended with. */
export const finalWeights = (run: string, model = 'final_model'): Buffer =>
  readFileSync(join(run, model, 'model.safetensors'))

export interface MetricLine {
  step: number
  values: Record<string, number>
}

export async function metricLines(run: string): Promise<MetricLine[]> {
  const text = await readFile(join(run, 'logs', 'metrics.jsonl'), 'utf8')
  return text
    .trimEnd()
    .split('\n')
    .map(line => JSON.parse(line) as MetricLine)
}

export const journalFiles = async (run: string): Promise<string[]> => (await readdir(join(run, 'journal'))).sort()
