/** A small world for evaluations: tiny models that know the fixtures' tokenizer, and files of rows and rewards. */
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { initModel, LocalModel, newConfig } from '../../src/model/index.js'
import { Tokenizer } from '../../src/text/index.js'

const tokenizerPath = new URL('../fixtures/tokenizer/', import.meta.url).pathname
export const tokenizer = await Tokenizer.load(tokenizerPath)

export const folder = mkdtempSync(join(tmpdir(), 'whetstone-evaluate-'))

let count = 0
/** A path that nothing is at yet. */
export const fresh = (name: string): string => join(folder, `${count++}-${name}`)

export function written(name: string, text: string): string {
  const path = fresh(name)
  writeFileSync(path, text)
  return path
}

export const jsonl = (rows: readonly object[]): string =>
  written('rows.jsonl', rows.map(row => `${JSON.stringify(row)}\n`).join(''))

const shape = { hidden: 32, intermediate: 64, layers: 2, heads: 4, kvHeads: 2, headDim: 8, context: 96, tied: true }
function tinyConfig() {
  const config = newConfig('qwen2', { ...shape, vocabSize: tokenizer.vocabSize })
  return { ...config, decoder: { ...config.decoder, initRange: 0.1 } }
}

/** A directory with random weights. */
export async function modelDirectory(seed: number): Promise<string> {
  const out = fresh('model')
  const tokens = { bos: tokenizer.bosId, eos: tokenizer.eosId, pad: tokenizer.padId }
  await initModel({ config: tinyConfig(), seed, dtype: 'float32', tokenizer: tokenizerPath, tokens, out })
  return out
}

/** A reward model made of a language model's weights. */
export async function rewardModelDirectory(source: string): Promise<string> {
  const model = await LocalModel.load(source, { role: 'reward', seed: 3 })
  const out = fresh('reward-model')
  await model.export(out, { what: 'model' })
  model.dispose()
  return out
}
