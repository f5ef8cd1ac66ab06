/** Trainings on compressed files and folders: they stop, go on and are replayed as those on plain files. */
import { copyFileSync, cpSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { beforeAll, expect, test } from 'vitest'
import { sftSchema } from '../../../src/train/sft/config.js'
import { runSft } from '../../../src/train/sft/job.js'
import { replaySupervised } from '../../../src/train/supervised/replay.js'
import { fresh } from '../../support/files.js'
import { jobOf, stoppingReport } from '../../support/supervised.js'
import { modelDirectory } from '../../support/tiny-model.js'

const fixtures = fileURLToPath(new URL('../../fixtures/data-sets', import.meta.url))
const at = (name: string): string => join(fixtures, name)

let model: string
beforeAll(async () => {
  model = await modelDirectory(1)
})

const configOf = (data: string, validationData?: string) =>
  sftSchema.parse({
    model,
    data,
    output: fresh('run'),
    batchSize: 8,
    maxSteps: 3,
    ...(validationData ? { validationData } : {}),
  })
const weightsIn = (output: string): Buffer => readFileSync(join(output, 'final_model', 'model.safetensors'))

test('the same rows train the same model from every form; a stopped run goes on from a compressed file', async () => {
  const plain = configOf(at('rows.jsonl'))
  await runSft(jobOf(plain))
  for (const name of ['rows.jsonl.gz', 'saved']) {
    const config = configOf(at(name))
    const stop = new AbortController()
    const report = stoppingReport(text => text.startsWith('sft 1/') && stop.abort())
    expect(await runSft(jobOf(config, { report, signal: stop.signal }))).toMatchObject({ outcome: 'stopped' })
    await runSft(jobOf(config, { resume: true }))
    expect(weightsIn(config.output).equals(weightsIn(plain.output)), name).toBe(true)
    expect(await replaySupervised(config.output)).toMatchObject({ batches: 3, mismatches: [], changedFiles: [] })
  }
})

test('a shard that has changed is noticed when the run goes on, and when it is replayed', async () => {
  const folder = fresh('shards')
  cpSync(at('dictionary'), folder, { recursive: true })
  const config = configOf(`${folder}:train`, `${folder}:test`)
  const stop = new AbortController()
  const report = stoppingReport(text => text.startsWith('sft 1/') && stop.abort())
  await runSft(jobOf(config, { report, signal: stop.signal }))
  const shard = join(folder, 'train', 'data-00001-of-00002.arrow')
  copyFileSync(join(folder, 'train', 'data-00000-of-00002.arrow'), shard)
  await expect(runSft(jobOf(config, { resume: true }))).rejects.toThrow(/dataset .*data-00001-of-00002\.arrow: was "/)
  expect((await replaySupervised(config.output)).changedFiles).toEqual([shard])
})
