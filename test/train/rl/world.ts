/** A small world for reinforcement learning: a tiny model, prompts and a reward in files, and runs of a few iterations. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll } from 'vitest'
import { initModel, type ModelConfig, newConfig } from '../../../src/model/index.js'
import type { Report } from '../../../src/progress/index.js'
import { threads } from '../../../src/tensor/index.js'
import { Tokenizer } from '../../../src/text/index.js'
import type { JobResult } from '../../../src/train/job.js'
import { type RlConfig, resolveRlConfig, runRl } from '../../../src/train/rl/index.js'

threads(1)

export const tokenizerPath = new URL('../../fixtures/tokenizer/', import.meta.url).pathname
export const tokenizer = await Tokenizer.load(tokenizerPath)

const folder = mkdtempSync(join(tmpdir(), 'whetstone-rl-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

let count = 0
/** A path that nothing is at yet. */
export const fresh = (name: string): string => join(folder, `${name}-${count++}`)

export function written(name: string, text: string): string {
  const path = join(folder, `${count++}-${name}`)
  writeFileSync(path, text)
  return path
}

const shape = { hidden: 32, intermediate: 64, layers: 2, heads: 4, kvHeads: 2, headDim: 8, context: 64, tied: true }
export const tinyConfig = (): ModelConfig => {
  const config = newConfig('qwen2', { ...shape, vocabSize: tokenizer.vocabSize })
  return { ...config, decoder: { ...config.decoder, initRange: 0.1 } }
}

export async function modelDirectory(seed: number): Promise<string> {
  const out = fresh('model')
  const tokens = { bos: tokenizer.bosId, eos: tokenizer.eosId, pad: tokenizer.padId }
  await initModel({ config: tinyConfig(), seed, dtype: 'float32', tokenizer: tokenizerPath, tokens, out })
  return out
}

/** Pays for every letter "e" and "t" of the response, up to eight. */
export const letterReward = written(
  'reward.mjs',
  `export default ({ response }) => Math.min(8, [...response].filter(letter => 'et'.includes(letter)).length) / 8\n`,
)

/** The same for everybody, whatever they write: it depends on the sample's place alone. */
export const shuffledReward = written(
  'shuffled.mjs',
  `export default ({ sample, group }) => ((sample * 7 + group.length * 3) % 8) / 8\n`,
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
}

export function start(options: Readonly<Record<string, unknown>>, rest: StartOptions = {}): Promise<JobResult> {
  const { config, origins } = resolveRlConfig([{ origin: 'test', values: options }])
  const { resume = false, allowChange = [], stopAt } = rest
  const stop = new AbortController()
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
