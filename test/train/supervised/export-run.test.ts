/** `whetstone export` of docs/precision.md: the model of a run's newest checkpoint, rounded or with all its digits. What 16-bit runs log. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, expect, test, vi } from 'vitest'
import type { z } from 'zod'
import { run as exportVerb } from '../../../src/cli/export.js'
import { Run } from '../../../src/run/index.js'
import { Checkpoint, scope } from '../../../src/tensor/index.js'
import { sftSchema } from '../../../src/train/sft/config.js'
import { runSft } from '../../../src/train/sft/job.js'
import { fresh, jsonl } from '../../support/files.js'
import { jobOf } from '../../support/supervised.js'
import { modelDirectory } from '../../support/tiny-model.js'

let model: string
let data: string
beforeAll(async () => {
  model = await modelDirectory(1)
  data = jsonl(Array.from({ length: 8 }, (_, i) => ({ prompt: `Say ${i}`, completion: `word ${i}` })))
})

const configOf = (rest: Partial<z.input<typeof sftSchema>> = {}) =>
  sftSchema.parse({
    ...{ model, data, output: fresh('run'), epochs: 2, batchSize: 4, dtype: 'bfloat16', device: 'cpu' },
    ...rest,
  })
const weightsIn = (directory: string) => readFileSync(join(directory, 'model.safetensors'))

test('a run in bfloat16 logs the share of weights that changed, and exports what it trained', async () => {
  const { output } = configOf()
  await runSft(jobOf(configOf({ output, optimizer: { lr: 1e-5 } })))
  const changed = (await Run.read(output)).metrics.get('weights/changed')!
  expect(changed.map(({ step }) => step)).toEqual([1, 2, 3, 4])
  for (const { value } of changed) expect(value > 0 && value < 1).toBe(true)

  const log = vi.spyOn(console, 'log').mockImplementation(() => {})
  const [narrow, wide] = [fresh('narrow'), fresh('wide')]
  expect(await exportVerb([output, '--out', narrow])).toBe(0)
  expect(await exportVerb([output, '--out', wide, '--dtype', 'float32'])).toBe(0)
  log.mockRestore()
  expect(weightsIn(narrow).equals(weightsIn(join(output, 'final_model')))).toBe(true)
  const [a, b] = [await Checkpoint.open(narrow), await Checkpoint.open(wide)]
  for (const name of a.names) {
    const [rounded, master] = [await a.read(name), await b.read(name)]
    expect(master.dtype).toBe('float32')
    expect(scope(() => master.cast('bfloat16').ne(rounded).sum().item())).toBe(0)
    for (const tensor of [rounded, master]) tensor.dispose()
  }
  for (const one of [a, b]) await one.close()
})

test('float16: an overflow is repeated with half the loss scale, and the scale is logged', async () => {
  const { output } = configOf()
  const { metrics } = await runSft(jobOf(configOf({ output, dtype: 'float16' })))
  expect(Math.log2(metrics['grad/loss_scale']!) % 1).toBe(0)
  expect(metrics['grad/overflows']).toBeGreaterThanOrEqual(0)
  expect(Number.isFinite(metrics['grad/norm'])).toBe(true)
})

test('a run without a checkpoint, or of no model, is refused in words', async () => {
  await expect(exportVerb([fresh('nothing'), '--out', fresh('out')])).rejects.toThrow('nothing does not exist')
  await expect(exportVerb(['--out', fresh('out')])).rejects.toThrow('expected one model or run')
})
