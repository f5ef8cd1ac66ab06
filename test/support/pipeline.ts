/** A small world for the pipeline: a tiny model, a few rows of each kind in files, and configs that take seconds. */
import { createHash } from 'node:crypto'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { createRlhfPipeline, type PipelineOptions, type PipelineSettings } from '../../src/pipeline/index.js'
import { fresh, jsonl } from './files.js'
import { type TinyShape, modelDirectory as tinyDirectory } from './tiny-model.js'

/** One layer, to take no time. */
export const modelDirectory = (seed: number, shape: TinyShape = {}): Promise<string> =>
  tinyDirectory(seed, { intermediate: 48, layers: 1, context: 64, ...shape })

const numbers = Array.from({ length: 16 }, (_, i) => i)
export const conversations = numbers.map(i => ({
  messages: [
    { role: 'user', content: `${i} + 1?` },
    { role: 'assistant', content: String(i + 1) },
  ],
}))
export const preferences = numbers.map(i => ({ prompt: `${i} + 1?`, chosen: String(i + 1), rejected: 'no' }))
export const prompts = numbers.map(i => ({ prompt: `${i} + 1?` }))

export const data = {
  sftDataPath: jsonl(conversations),
  rewardDataPath: jsonl(preferences),
  ppoDataPath: jsonl(prompts),
}

export const base = await modelDirectory(1)

/** Options of a pipeline of a few optimiser steps. */
export function quickly(options: Partial<PipelineOptions> = {}): PipelineOptions {
  return {
    baseModel: base,
    saveDir: fresh('out'),
    device: 'cpu',
    ...data,
    ...{ sftEpochs: 1, sftBatchSize: 8, sftLr: 1e-3 },
    ...{ rewardEpochs: 1, rewardBatchSize: 8, rewardLr: 1e-3 },
    ...{ ppoIterations: 2, ppoBatchSize: 4, ppoMiniBatchSize: 2, ppoEpochs: 1, ppoLrPolicy: 1e-4 },
    validationShare: 0.25,
    saveInterval: 1,
    ...options,
    // Training on preferences generates nothing.
    ppo: { ...(/dpo|kto/.test(options.algorithm ?? 'ppo') ? {} : { maxNewTokens: 4 }), ...options.ppo },
  }
}

export const pipelineOf = (options: Partial<PipelineOptions> = {}, settings: PipelineSettings = {}) =>
  createRlhfPipeline(quickly(options), settings)

/** SHA-256 of every file below a directory, by name. */
export function filesOf(directory: string): Record<string, string> {
  const names = readdirSync(directory, { recursive: true, encoding: 'utf8' }).sort()
  const files = names.filter(name => statSync(join(directory, name)).isFile())
  const hash = (name: string) =>
    createHash('sha256')
      .update(readFileSync(join(directory, name)))
      .digest('hex')
  return Object.fromEntries(files.map(name => [name, hash(name)]))
}

export const weightsOf = (model: string): Buffer => readFileSync(join(model, 'model.safetensors'))
