/**
 * What a dry run estimates beside the measured peak, in eight cases. Every case is a process of its own. On the CPU the peak is the
 * peak resident memory less what the process held before; on a GPU it is the peak of the card's memory.
 *
 *   npm run build && node bench/train/memory-estimate.mjs [--only NAMES]
 *   node bench/train/memory-estimate.mjs --device cuda
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { sizes } from 'whetstone/model'
import { memoryUse } from 'whetstone/tensor'
import { silentReport } from 'whetstone/train'
import { trainings } from '#whetstone/train'
import { inChild, makeModel, makeTokenizer, megabytes, peakOf, readmeText, writeRows } from './memory-world.mjs'

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
      /** @type {{ peak: number, estimate: number, parts: readonly string[] }} */
      const { peak, estimate, parts } = inChild(import.meta.url, { ...one, values })
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

/** Rows of unequal length, much shorter than the context. @param {string} scratch */
async function makeWorld(scratch) {
  const text = readmeText()
  const tokenizer = await makeTokenizer(scratch)
  for (const [name, shape] of Object.entries({ small, smol }))
    await makeModel({ out: join(scratch, name), tokenizer, device: options.device, family: 'llama', shape })
  /** @param {string} name @param {number} count @param {(i: number) => object} row */
  const write = (name, count, row) =>
    writeRows(
      join(scratch, name),
      Array.from({ length: count }, (_, i) => row(i)),
    )
  write('rows.jsonl', 2 * batch, i => ({ prompt: text(i * 7, 10), completion: text(i * 31, 40 + (i % 8) * 10) }))
  write('pairs.jsonl', batch, i => {
    const chosen = text(i * 3, 40 + (i % 4) * 10)
    return { prompt: text(i, 10), chosen, rejected: text(i * 5, 60) }
  })
  write('prompts.jsonl', 2 * rollout.rolloutBatchSize, i => ({ prompt: text(i * 7, 12) }))
  write('long.jsonl', 4, i => ({ prompt: text(i * 7, 10), completion: text(i * 31, 1500) }))
  writeFileSync(join(scratch, 'reward.mjs'), 'export default ({ response }) => response.length % 7')
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
        `cache ${megabytes(sized.cache)} MB, ${JSON.stringify(sized.batch)}`,
      ]
      globalThis.gc?.()
      before = process.memoryUsage.rss()
      return /** @type {const} */ ('train')
    },
  })
  const device = values.device === 'cuda' ? 'cuda' : 'cpu'
  parts.push(
    `tensors at the end ${megabytes(memoryUse(device).bytes)} MB, since the last metrics ${megabytes(memoryUse(device).peakBytes)} MB at most`,
  )
  console.log(JSON.stringify({ peak: peakOf({ device, directory, before }), estimate, parts }))
}

if (options.child === undefined) await measureAll()
else await measure(JSON.parse(options.child))
