/**
 * The JavaScript heap of a long GRPO run, after a forced collection: a run of any length holds as much as a short one. The model
 * has some thousand weights, so that thousands of iterations take two minutes.
 *
 *   node --expose-gc bench/train/growth.mjs [ITERATIONS]     default 5,000; `npm run bench:memory` runs it too
 */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { initModel, newConfig } from 'whetstone/model'
import { threads } from 'whetstone/tensor'
import { embeddingRows, Tokenizer, trainTokenizer } from 'whetstone/text'
import { silentReport } from 'whetstone/train'
import { resolveRlConfig, runRl } from '#whetstone/train'

const iterations = Number(process.argv[2] ?? 5000)
const { gc } = globalThis
if (!gc) throw new Error('start it with node --expose-gc')

/** The first hundred iterations compile and fill caches. */
const marks = [100, 400, 800, 1600, 2700, iterations].filter((mark, i, all) => all.indexOf(mark) === i)
/** @type {{ iteration: number, heap: number }[]} */
const found = []

/** Looks at the heap between iterations. */
const report = {
  ...silentReport,
  live: () => ({
    /** @param {{ at: string }} status */
    show({ at }) {
      const iteration = Number(/(\d+)\//.exec(at)?.[1])
      if (!marks.includes(iteration) || found.some(one => one.iteration === iteration)) return
      gc()
      gc()
      const heap = process.memoryUsage().heapUsed / 1e6
      found.push({ iteration, heap })
      console.log(`  ${String(iteration).padStart(6)} iterations ${heap.toFixed(1).padStart(8)} MB`)
    },
    doing() {},
    end() {},
  }),
}

const scratch = mkdtempSync(join(tmpdir(), 'whetstone-growth-'))
/** @param {string} name */
const at = name => join(scratch, name)
try {
  threads(1)
  writeFileSync(at('corpus.txt'), Array.from({ length: 200 }, (_, i) => `number ${i} and more`).join('\n'))
  await trainTokenizer({ files: [at('corpus.txt')], vocabSize: 300, minFrequency: 2, out: at('tokenizer') })
  const tokenizer = await Tokenizer.load(at('tokenizer'))
  const tokens = { bos: tokenizer.bosId, eos: tokenizer.eosId, pad: tokenizer.padId }
  const shape = { hidden: 16, layers: 1, heads: 2, kvHeads: 1, headDim: 8, intermediate: 32, context: 64, tied: true }
  const config = newConfig('qwen2', { ...shape, vocabSize: embeddingRows(tokenizer) }, tokens)
  await initModel({ config, seed: 0, dtype: 'float32', tokenizer: at('tokenizer'), tokens, out: at('model') })
  writeFileSync(at('rows.jsonl'), Array.from({ length: 64 }, (_, i) => `{"prompt": "number ${i}"}`).join('\n'))
  writeFileSync(at('reward.mjs'), 'export default ({ response }) => response.length % 7')
  const values = {
    model: at('model'),
    data: at('rows.jsonl'),
    rewards: at('reward.mjs'),
    output: at('run'),
    device: 'cpu',
    iterations,
    rolloutBatchSize: 2,
    nSamplesPerPrompt: 2,
    maxNewTokens: 4,
    saveSteps: 500,
  }
  const resolved = resolveRlConfig([{ origin: 'bench', values }])
  await runRl({ ...resolved, resume: false, allowChange: [], report, signal: new AbortController().signal })
  const [first, last] = [found[0]?.heap ?? Number.NaN, found.at(-1)?.heap ?? Number.NaN]
  const perIteration = ((last - first) * 1e6) / (iterations - (found[0]?.iteration ?? 0))
  console.log(`  ${perIteration.toFixed(0)} bytes an iteration`)
} finally {
  rmSync(scratch, { recursive: true, force: true })
}
