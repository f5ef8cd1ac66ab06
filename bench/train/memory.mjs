/**
 * The peak memory of two training steps, with one option changed at a time, beside what a dry run estimates. Every
 * line is a process of its own, and its peak resident memory less what it held before the model was loaded. The second step is
 * the first that holds gradients, moments and activations together.
 *
 *   npm run bench:memory [-- --only sft,rl,growth]
 *   npm run bench:memory -- --device cuda      a model of 0.5B parameters, and the peak of the card's memory
 *
 * docs/out-of-memory.md has a table of it. Last comes growth.mjs: the JavaScript heap of a long run.
 */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { sizes } from 'whetstone/model'
import { embeddingRows } from 'whetstone/text'
import { silentReport } from 'whetstone/train'
import {
  checkModels,
  planRl,
  planRows,
  resolveConfig,
  resolveRlConfig,
  runRl,
  runSft,
  sftSchema,
  supervisedPaths,
} from '#whetstone/train'
import { inChild, makeModel, makeTokenizer, megabytes, peakOf, readmeText, writeRows } from './memory-world.mjs'

/**
 * @typedef {{ kind: 'sft' | 'rl', values: Record<string, unknown> }} Training
 * @typedef {{ peak: number, estimate: number }} Measured
 */

const { values: options } = parseArgs({
  options: { only: { type: 'string' }, device: { type: 'string', default: 'cpu' }, child: { type: 'string' } },
})

/** @type {Record<'sft' | 'rl', readonly Record<string, unknown>[]>} */
const onCuda = {
  sft: [{}, { dtype: 'float32' }, { tokenBudget: 4096 }, { gradientCheckpointing: true }, { lora: {} }],
  rl: [
    {},
    { tokenBudget: 4096 },
    { gradientCheckpointing: true },
    { lora: {} },
    { enableEngineSleep: true },
    { microRolloutBatchSize: 4 },
    { maxNewTokens: 128 },
    { nSamplesPerPrompt: 32 },
  ],
}

/** @type {Record<'sft' | 'rl', readonly Record<string, unknown>[]>} */
const onCpu = {
  sft: [
    {},
    { dtype: 'bfloat16' },
    { tokenBudget: 1024 },
    { tokenBudget: 512 },
    { gradientCheckpointing: true },
    { lora: {} },
    { lora: {}, gradientCheckpointing: true, tokenBudget: 512 },
  ],
  rl: [
    {},
    { dtype: 'bfloat16' },
    { tokenBudget: 512 },
    { gradientCheckpointing: true },
    { lora: {} },
    { enableEngineSleep: true },
    { reference: 'none', useKlLoss: false, klController: { kind: 'fixed', coef: 0 } },
    { rolloutBatchSize: 16 },
    { nSamplesPerPrompt: 16 },
    { microRolloutBatchSize: 4 },
    { maxNewTokens: 32 },
  ],
}

const isCuda = options.device === 'cuda'
const changes = isCuda ? onCuda : onCpu

async function measureAll() {
  const scratch = mkdtempSync(join(tmpdir(), 'whetstone-memory-'))
  try {
    await makeWorld(scratch)
    for (const kind of /** @type {const} */ (['sft', 'rl'])) {
      if (options.only !== undefined && !options.only.split(',').includes(kind)) continue
      console.log(`\n${kind.padEnd(76)} peak MB   estimate`)
      for (const [i, change] of changes[kind].entries()) {
        const values = { ...common(scratch, kind), ...change, output: join(scratch, `${kind}-${i}`) }
        /** @type {Measured} */
        const { peak, estimate } = inChild(import.meta.url, { kind, values })
        const name = i === 0 ? 'as it is' : JSON.stringify(change)
        console.log(`  ${name.padEnd(72)} ${megabytes(peak)} ${megabytes(estimate)}`)
        rmSync(values.output, { recursive: true, force: true })
      }
    }
    if (!isCuda && (options.only === undefined || options.only.split(',').includes('growth'))) {
      console.log('\nJavaScript heap of a GRPO run, after a collection')
      const growth = fileURLToPath(new URL('growth.mjs', import.meta.url))
      spawnSync(process.execPath, ['--expose-gc', growth], { stdio: 'inherit' })
    }
  } finally {
    rmSync(scratch, { recursive: true, force: true })
  }
}

/** A 26M model, conversations that fill 256 tokens, prompts of about 32. @param {string} scratch */
async function makeWorld(scratch) {
  const text = readmeText()
  const tokenizer = await makeTokenizer(scratch)
  const shape = { ...sizes[isCuda ? '0.5b' : '26m'], vocabSize: embeddingRows(tokenizer) }
  await makeModel({ out: join(scratch, 'model'), tokenizer, device: options.device, family: 'qwen2', shape })
  const rows = Array.from({ length: isCuda ? 128 : 16 }, (_, i) => ({
    prompt: text(i * 7, 10),
    completion: text(i * 31, 400),
  }))
  writeRows(join(scratch, 'rows.jsonl'), rows)
  writeFileSync(join(scratch, 'reward.mjs'), 'export default ({ response }) => response.length % 7')
}

/** @param {string} scratch @param {'sft' | 'rl'} kind */
function common(scratch, kind) {
  const files = { model: join(scratch, 'model'), data: join(scratch, 'rows.jsonl') }
  const shared = { ...files, device: options.device, maxSteps: 2 }
  if (isCuda)
    return kind === 'sft'
      ? { ...shared, batchSize: 64, maxLength: 512, overlong: 'truncate', tokenBudget: 16384 }
      : {
          ...shared,
          rewards: join(scratch, 'reward.mjs'),
          iterations: 2,
          rolloutBatchSize: 8,
          nSamplesPerPrompt: 8,
          maxNewTokens: 512,
          promptMaxLen: 64,
          tokenBudget: 16384,
        }
  return kind === 'sft'
    ? { ...shared, batchSize: 8, maxLength: 256, overlong: 'truncate', tokenBudget: 2048 }
    : {
        ...shared,
        rewards: join(scratch, 'reward.mjs'),
        iterations: 2,
        rolloutBatchSize: 4,
        nSamplesPerPrompt: 4,
        maxNewTokens: 96,
        promptMaxLen: 64,
        tokenBudget: 2048,
      }
}

/** @param {Training} training */
async function measure({ kind, values }) {
  const layers = [{ origin: 'bench', values }]
  const start = { resume: false, allowChange: [], report: silentReport, signal: new AbortController().signal }
  if (kind === 'sft') {
    const resolved = resolveConfig(sftSchema, layers, { paths: supervisedPaths })
    const { config } = resolved
    const plan = planRows(config, { kind: 'conversations', role: 'language' })
    await measured(plan, () => runSft({ ...resolved, ...start }))
  } else {
    const resolved = resolveRlConfig(layers)
    await measured(planRl(resolved.config), () => runRl({ ...resolved, ...start }))
  }
}

/** @param {import('#whetstone/train').TrainingPlan} plan @param {() => Promise<{ directory: string }>} training */
async function measured(plan, training) {
  const { together: estimate } = await checkModels(plan)
  const before = process.memoryUsage.rss()
  const { directory } = await training()
  console.log(JSON.stringify({ peak: peakOf({ device: plan.device, directory, before }), estimate }))
}

if (options.child === undefined) await measureAll()
else await measure(JSON.parse(options.child))
