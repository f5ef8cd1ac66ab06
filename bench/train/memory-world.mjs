/** What the benches of memory share: texts, models, and a training whose peak is measured in a process of its own. */
import { spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { initModel, newConfig } from 'whetstone/model'
import { Tokenizer, trainTokenizer } from 'whetstone/text'

/** @param {number} bytes */
export const megabytes = bytes => (bytes / 1e6).toFixed(0).padStart(9)

/** Words of the README, from a place on. @returns {(from: number, count: number) => string} */
export function readmeText() {
  const words = readFileSync(fileURLToPath(new URL('../../README.md', import.meta.url)), 'utf8').split(/\s+/)
  return (from, count) => Array.from({ length: count }, (_, i) => words[(from + i) % words.length]).join(' ')
}

/** @param {string} path @param {readonly object[]} rows */
export const writeRows = (path, rows) => writeFileSync(path, rows.map(row => `${JSON.stringify(row)}\n`).join(''))

/** A tokenizer of those words. @param {string} scratch */
export async function makeTokenizer(scratch) {
  const out = join(scratch, 'tokenizer')
  const corpus = join(scratch, 'corpus.txt')
  writeFileSync(corpus, readmeText()(0, 5000))
  await trainTokenizer({ files: [corpus], vocabSize: 1024, minFrequency: 2, out })
  return Tokenizer.load(out)
}

/**
 * A model with random weights in the dtype of its device.
 *
 * @param {{ out: string, tokenizer: Tokenizer, device: string, family: Parameters<typeof newConfig>[0], shape: Parameters<typeof newConfig>[1] }} options
 */
export async function makeModel({ out, tokenizer, device, family, shape }) {
  const tokens = { bos: tokenizer.bosId, eos: tokenizer.eosId, pad: tokenizer.padId }
  const config = newConfig(family, shape, tokens)
  const dtype = device === 'cuda' ? 'bfloat16' : 'float32'
  await initModel({ config, seed: 0, dtype, tokenizer: tokenizer.dir, tokens, out })
}

/**
 * Runs a bench's file again as a child with a job, and gives what it printed.
 *
 * @template T
 * @param {string} url @param {object} job @returns {T}
 */
export function inChild(url, job) {
  const { status, stdout } = spawnSync(process.execPath, [fileURLToPath(url), '--child', JSON.stringify(job)], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
    // Freed memory goes back to the system at once, so that the peak is of what was held together.
    env: { ...process.env, MALLOC_TRIM_THRESHOLD_: '0', MALLOC_MMAP_THRESHOLD_: '65536' },
  })
  if (status !== 0) throw new Error(`the training failed: ${JSON.stringify(job)}`)
  return JSON.parse(stdout)
}

/**
 * The peak of a run: of the card's memory, or of this process less what it held before the run. That is code and the interpreter,
 * which another model would not change.
 *
 * @param {{ device: unknown, directory: string, before: number }} run
 */
export function peakOf({ device, directory, before }) {
  // In KiB.
  if (device !== 'cuda') return process.resourceUsage().maxRSS * 1024 - before
  const lines = readFileSync(join(directory, 'logs', 'metrics.jsonl'), 'utf8')
    .trim()
    .split('\n')
  return Math.max(...lines.map(line => JSON.parse(line).values['memory/device_peak'] ?? 0))
}
