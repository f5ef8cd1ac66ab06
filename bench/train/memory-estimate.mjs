/**
 * What a dry run estimates beside the measured peak, in eight cases. Every case is a process of its own. On the CPU the peak is the
 * peak resident memory less what the process held before; on a GPU it is the peak of the card's memory.
 *
 *   npm run build && node bench/train/memory-estimate.mjs [--only NAMES]
 *   node bench/train/memory-estimate.mjs --device cuda
 */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { initModel, newConfig, sizes } from 'whetstone/model'
import { Tokenizer, trainTokenizer } from 'whetstone/text'
import { silentReport } from 'whetstone/train'
import { trainings } from '#whetstone/train'

const { values: options } = parseArgs({
  options: {
    only: { type: 'string' },
    device: { type: 'string', default: 'cpu' },
    child: { type: 'string' },
    details: { type: 'boolean', default: false },
  },
})
const isCuda = options.device === 'cuda'

/** The shape of SmolLM2-135M. */
const smol = {
  ...{ hidden: 576, intermediate: 1536, layers: 30, heads: 9, kvHeads: 3, headDim: 64, context: 8192, tied: true },
  vocabSize: 49_152,
}
const small = isCuda ? { ...sizes['0.5b'], vocabSize: 151_936 } : { ...sizes['26m'], vocabSize: 8192 }

/** @typedef {{ training: keyof typeof trainings, model: 'small' | 'smol', values: Record<string, unknown> }} Case */

const batch = isCuda ? 32 : 8
const rollout = isCuda
  ? { rolloutBatchSize: 8, nSamplesPerPrompt: 8, maxNewTokens: 256 }
  : { rolloutBatchSize: 4, nSamplesPerPrompt: 4, maxNewTokens: 96 }

/** @type {Readonly<Record<string, Case>>} */
const cases = {
  'sft, all weights': { training: 'sft', model: 'small', values: { batchSize: batch } },
  'sft, LoRA': { training: 'sft', model: 'smol', values: { batchSize: batch, lora: { rank: 16 } } },
  dpo: { training: 'preference', model: 'small', values: { batchSize: batch / 2, data: 'pairs.jsonl' } },
  'reward model': { training: 'reward', model: 'small', values: { batchSize: batch / 2, data: 'pairs.jsonl' } },
  'grpo, local engine': { training: 'rl', model: 'small', values: { ...rollout, algorithm: 'grpo' } },
  'ppo with a critic': { training: 'rl', model: 'small', values: { ...rollout, algorithm: 'ppo', updateEpochs: 1 } },
  'gradient checkpointing': {
    training: 'sft',
    model: 'smol',
    values: { batchSize: batch, gradientCheckpointing: true },
  },
  'long sequences': {
    training: 'sft',
    model: 'small',
    values: { batchSize: 2, data: 'long.jsonl', maxLength: 2048, tokenBudget: 2048 },
  },
}

async function measureAll() {
  const scratch = mkdtempSync(join(tmpdir(), 'whetstone-memory-'))
  try {
    await makeWorld(scratch)
    console.log(`${'case'.padEnd(26)} estimate MB    peak MB   estimate / peak`)
    for (const [name, one] of Object.entries(cases)) {
      if (options.only !== undefined && !options.only.split(',').some(part => name.includes(part))) continue
      const { data = one.training === 'rl' ? 'prompts.jsonl' : 'rows.jsonl', ...more } = one.values
      const values = {
        ...{ model: join(scratch, one.model), data: join(scratch, String(data)), device: options.device, maxSteps: 2 },
        ...(one.training === 'rl' ? { rewards: join(scratch, 'reward.mjs'), iterations: 2 } : {}),
        ...more,
        output: join(scratch, 'run'),
      }
      const { peak, estimate, parts } = inChild({ ...one, values })
      console.log(
        `${name.padEnd(26)} ${megabytes(estimate)}  ${megabytes(peak)}   ${(estimate / peak).toFixed(2).padStart(15)}`,
      )
      if (options.details) for (const part of parts) console.log(`    ${part}`)
      rmSync(values.output, { recursive: true, force: true })
    }
  } finally {
    rmSync(scratch, { recursive: true, force: true })
  }
}

/** @param {number} bytes */
const megabytes = bytes => (bytes / 1e6).toFixed(0).padStart(9)

/** Rows of unequal length, much shorter than the context. @param {string} scratch */
async function makeWorld(scratch) {
  const words = readFileSync(fileURLToPath(new URL('../../README.md', import.meta.url)), 'utf8').split(/\s+/)
  /** @param {number} from @param {number} count */
  const text = (from, count) => Array.from({ length: count }, (_, i) => words[(from + i) % words.length]).join(' ')
  const tokenizerDirectory = join(scratch, 'tokenizer')
  writeFileSync(join(scratch, 'corpus.txt'), words.join(' '))
  await trainTokenizer({
    files: [join(scratch, 'corpus.txt')],
    vocabSize: 1024,
    minFrequency: 2,
    out: tokenizerDirectory,
  })
  const tokenizer = await Tokenizer.load(tokenizerDirectory)
  const tokens = { bos: tokenizer.bosId, eos: tokenizer.eosId, pad: tokenizer.padId }
  for (const [name, shape] of Object.entries({ small, smol })) {
    const config = newConfig('llama', shape, tokens)
    const dtype = isCuda ? 'bfloat16' : 'float32'
    await initModel({ config, seed: 0, dtype, tokenizer: tokenizerDirectory, tokens, out: join(scratch, name) })
  }
  /** @param {string} name @param {(i: number) => object} row @param {number} count */
  const write = (name, row, count) =>
    writeFileSync(join(scratch, name), Array.from({ length: count }, (_, i) => `${JSON.stringify(row(i))}\n`).join(''))
  write('rows.jsonl', i => ({ prompt: text(i * 7, 10), completion: text(i * 31, 40 + (i % 8) * 10) }), 4 * batch)
  write(
    'pairs.jsonl',
    i => ({ prompt: text(i, 10), chosen: text(i * 3, 40 + (i % 4) * 10), rejected: text(i * 5, 60) }),
    4 * batch,
  )
  write('prompts.jsonl', i => ({ prompt: text(i * 7, 12) }), 64)
  write('long.jsonl', i => ({ prompt: text(i * 7, 10), completion: text(i * 31, 1500) }), 8)
  writeFileSync(join(scratch, 'reward.mjs'), 'export default ({ response }) => response.length % 7')
}

/** @param {Case} one @returns {{ peak: number, estimate: number, parts: readonly string[] }} */
function inChild(one) {
  const { status, stdout } = spawnSync(
    process.execPath,
    [fileURLToPath(import.meta.url), '--child', JSON.stringify(one)],
    {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'inherit'],
      // Freed memory goes back to the system at once, so that the peak is of what was held together.
      env: { ...process.env, MALLOC_TRIM_THRESHOLD_: '0', MALLOC_MMAP_THRESHOLD_: '65536' },
    },
  )
  if (status !== 0) throw new Error(`the training failed: ${JSON.stringify(one.values)}`)
  return JSON.parse(stdout)
}

/** @param {Case} one */
async function measure({ training: name, values }) {
  const training = /** @type {import('#whetstone/train').Training} */ (/** @type {unknown} */ (trainings[name]))
  const resolved = training.resolve([{ origin: 'bench', values }])
  let estimate = 0
  let before = 0
  /** @type {string[]} */
  let parts = []
  const { directory } = await training.run({
    ...resolved,
    ...{ resume: false, allowChange: [], report: silentReport, signal: new AbortController().signal },
    onChecked: async ({ models, countTooLong }) => {
      const [rows] = await countTooLong()
      const sized = models.forRows?.(rows?.lengths ?? []) ?? models
      estimate = sized.together
      parts = [
        ...sized.models.map(({ memory }) =>
          JSON.stringify(memory, (_, value) => (typeof value === 'number' ? Math.round(value / 1e6) : value)),
        ),
        `cache ${megabytes(sized.cache)} MB, ${sized.tokens} tokens`,
      ]
      globalThis.gc?.()
      before = process.memoryUsage.rss()
      return /** @type {const} */ ('train')
    },
  })
  if (values.device === 'cuda') {
    const lines = readFileSync(join(directory, 'logs', 'metrics.jsonl'), 'utf8')
      .trim()
      .split('\n')
    const peak = Math.max(...lines.map(line => JSON.parse(line).values['memory/device_peak'] ?? 0))
    console.log(JSON.stringify({ peak, estimate, parts }))
    return
  }
  // In KiB. What was held before is code and the interpreter, which another model would not change.
  const peak = process.resourceUsage().maxRSS * 1024 - before
  console.log(JSON.stringify({ peak, estimate, parts }))
}

if (options.child === undefined) await measureAll()
else await measure(JSON.parse(options.child))
