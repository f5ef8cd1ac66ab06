/** What trainings are measured on: one 2.0M model in a directory, and prompts, texts and pairs of equal and of ragged lengths in files. */
import { cp, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { initModel, newConfig, sizes } from 'whetstone/model'
import { makeTokenizer, numbers } from '../experience/world.mjs'

export const vocabSize = 4096
const letters = 'etaoinshrdlcumwfgypbvkjxqz'

/** Rows of a file, and what each of them holds in tokens. */
const rowCounts = { prompts: 256, texts: 96, pairs: 48 }
const ragged = { min: 16, max: 256 }

/**
 * @typedef {Awaited<ReturnType<typeof makeWorld>>} World
 * @param {string} directory
 */
export async function makeWorld(directory) {
  const tokenizer = await makeTokenizer(join(directory, 'tokenizer'), vocabSize)
  const model = join(directory, 'model')
  const tokens = { eos: tokenizer.eosId }
  const config = newConfig('qwen2', { ...sizes['2m'], vocabSize }, tokens)
  await initModel({ config, seed: 1, dtype: 'float32', tokenizer: tokenizer.dir, tokens, out: model })

  const next = numbers(7)
  const letter = () => letters[Math.floor(next() * 26)]
  /** Every word of three letters is a space and one or two tokens: cut to what was asked for. @param {number} length */
  const text = async length => {
    const words = Array.from({ length }, () => letter() + letter() + letter()).join(' ')
    return tokenizer.decode((await tokenizer.encode(words)).subarray(0, length))
  }
  const between = (/** @type {number} */ min, /** @type {number} */ max) => min + Math.floor(next() * (max - min + 1))
  /** @param {string} name @param {number} count @param {() => Promise<object>} row */
  const file = async (name, count, row) => {
    const path = join(directory, `${name}.jsonl`)
    const rows = []
    for (let i = 0; i < count; i++) rows.push(`${JSON.stringify(await row())}\n`)
    await writeFile(path, rows.join(''))
    return path
  }
  const reward = join(directory, 'reward.mjs')
  await writeFile(reward, 'export default ({ response }) => response.length % 7\n')
  return {
    directory,
    model,
    reward,
    prompts: await file('prompts', rowCounts.prompts, async () => ({ prompt: await text(64) })),
    raggedPrompts: await file('ragged-prompts', rowCounts.prompts, async () => ({
      prompt: await text(between(16, 112)),
    })),
    texts: await file('texts', rowCounts.texts, async () => ({ text: await text(between(ragged.min, ragged.max)) })),
    pairs: await file('pairs', rowCounts.pairs, async () => ({
      prompt: await text(between(8, 64)),
      chosen: ` ${await text(between(8, 192))}`,
      rejected: ` ${await text(between(8, 192))}`,
    })),
  }
}

/**
 * The same model, except that every so many tokens of the vocabulary one ends a response: as random weights sample them all alike,
 * lengths are geometric.
 *
 * @param {World} world @param {number} mean
 */
export async function withEnds({ directory, model }, mean) {
  const other = join(directory, `model-${mean}`)
  await cp(model, other, { recursive: true })
  const path = join(other, 'generation_config.json')
  const config = JSON.parse(await readFile(path, 'utf8'))
  config.eos_token_id = [vocabSize - 1, ...Array.from({ length: Math.round(vocabSize / mean) }, (_, i) => i * mean)]
  await writeFile(path, JSON.stringify(config))
  return other
}
