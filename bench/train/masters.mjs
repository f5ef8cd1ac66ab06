/**
 * What small learning rates do to 16-bit weights: steps of AdamW on a few rows of a real model, in float32, and in bfloat16 with
 * masters that start on the weights (exact) or inside their rounding cells (dither). Losses are of the weights as they are after
 * each step, computed in float32, so that nothing but the weights' rounding differs.
 *
 *   npm run build && node bench/train/masters.mjs --model DIR --data rows.jsonl [--rows 4] [--steps 8]
 *
 * Rows are GSM8K's: question and answer.
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { LocalModel } from 'whetstone/model'
import { promptSequence, trainedCount } from 'whetstone/sequence'
import { Tokenizer } from 'whetstone/text'
import { withAnswer } from '#whetstone/sequence'

const { values } = parseArgs({
  options: {
    model: { type: 'string' },
    data: { type: 'string' },
    rows: { type: 'string', default: '4' },
    steps: { type: 'string', default: '8' },
  },
})
if (!values.model || !values.data) throw new Error('expected --model DIR and --data rows.jsonl')
const steps = Number(values.steps)
const scratch = mkdtempSync(join(tmpdir(), 'whetstone-masters-'))

const tokenizer = await Tokenizer.load(values.model)
/** @type {import("whetstone/sequence").Sequence[]} */
const sequences = []
for (const line of readFileSync(values.data, 'utf8').trim().split('\n').slice(0, Number(values.rows))) {
  const { question, answer } = JSON.parse(line)
  const prompt = await tokenizer.encodeChat([{ role: 'user', content: question }], { addGenerationPrompt: true })
  const said = withAnswer(promptSequence({ ids: prompt, promptId: question, row: {} }), await tokenizer.encode(answer))
  sequences.push(withAnswer(said, Int32Array.of(tokenizer.eosId ?? 0)))
}
const tokens = sequences.reduce((sum, sequence) => sum + trainedCount(sequence), 0)

/** bfloat16 numbers, so that all three start from the same weights. */
const start = join(scratch, 'start')
const rounded = await LocalModel.load(values.model, { role: 'language', dtype: 'bfloat16' })
await rounded.export(start, { what: 'model' })
rounded.dispose()

/** @param {string} directory */
async function lossOf(directory) {
  const model = await LocalModel.load(directory, { role: 'language', dtype: 'float32' })
  const outputs = await model.score(sequences)
  model.dispose()
  return -outputs.reduce((sum, { logprobs }) => sum + logprobs.reduce((a, b) => a + b, 0), 0) / tokens
}

/** @param {'float32' | 'bfloat16'} dtype @param {'exact' | 'dither'} masters @param {number} lr */
async function train(dtype, masters, lr) {
  const model = await LocalModel.load(start, { role: 'language', dtype, optimizer: { masters } })
  const changed = []
  for (let step = 0; step < steps; step++) {
    await model.forwardBackward(sequences, outputs =>
      outputs.map(({ logprobs }) => ({ logprobs: new Float32Array(logprobs.length).fill(-1 / tokens) })),
    )
    const made = await model.step({ lr })
    if (made.changed !== undefined) changed.push(await made.changed)
  }
  const out = join(scratch, 'out')
  await model.export(out, { what: 'model' })
  model.dispose()
  const loss = await lossOf(out)
  rmSync(out, { recursive: true })
  return { loss, changed }
}

/** @type {['float32' | 'bfloat16', 'exact' | 'dither'][]} */
const kinds = [
  ['float32', 'dither'],
  ['bfloat16', 'exact'],
  ['bfloat16', 'dither'],
]

try {
  const before = await lossOf(start)
  console.log(`${sequences.length} rows, ${tokens} trained tokens, ${steps} steps; loss before: ${before.toFixed(4)}`)
  console.log('| rate | weights | loss after | progress | changed in a step, % |\n| --- | --- | --- | --- | --- |')
  for (const lr of [1e-6, 1e-5]) {
    let whole = 0
    for (const [dtype, masters] of kinds) {
      const { loss, changed } = await train(dtype, masters, lr)
      if (dtype === 'float32') whole = before - loss
      const share = `${((100 * (before - loss)) / whole).toFixed(1)} %`
      const mean = changed.length > 0 ? (100 * changed.reduce((a, b) => a + b, 0)) / changed.length : Number.NaN
      const name = dtype === 'float32' ? dtype : `${dtype}, ${masters}`
      console.log(`| ${lr} | ${name} | ${loss.toFixed(4)} | ${share} | ${mean.toFixed(3)} |`)
    }
  }
} finally {
  rmSync(scratch, { recursive: true, force: true })
}
