/** What people do to a training on rows, through the socket of its run. */
import { cpSync, existsSync, mkdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { askRun, Run } from '../../../src/run/index.js'
import { sftSchema } from '../../../src/train/sft/config.js'
import { runSft } from '../../../src/train/sft/job.js'
import { replaySupervised } from '../../../src/train/supervised/replay.js'
import { fresh, jsonl } from '../../support/files.js'
import { jobOf, stoppingReport } from '../../support/supervised.js'
import { modelDirectory } from '../../support/tiny-model.js'

type Line = Readonly<Record<string, unknown>>

async function ask(run: string, request: unknown): Promise<Line> {
  for await (const line of askRun(run, request)) return line
  throw new Error('the run ended before it answered')
}

test('a training is paused, changed, saved and stopped; a resumed one does the same, bit for bit', async () => {
  const model = await modelDirectory(1)
  const data = jsonl(Array.from({ length: 8 }, (_, i) => ({ prompt: `Say ${i}`, completion: `word ${i}` })))
  const options = { model, data, validationData: data, batchSize: 4, epochs: 12, optimizer: { lr: 1e-3 } }
  const configOf = () => sftSchema.parse({ ...options, output: fresh('run') })
  const config = configOf()
  const run = config.output
  const training = runSft(jobOf(config))
  while (!existsSync(join(run, 'control.sock'))) await wait(5)
  expect(statSync(join(run, 'control.sock')).mode & 0o777).toBe(0o600)
  await ask(run, { act: 'pause' })
  for (let state: unknown; state !== 'paused'; await wait(5)) state = (await ask(run, { ask: 'state' })).state
  // What the schema refuses, and what this training does not know, changes nothing.
  expect(await ask(run, { act: 'set', option: 'optimizer.lr', value: 0 })).toEqual({
    error: expect.stringContaining('optimizer.lr'),
  })
  expect(await ask(run, { act: 'set', option: 'evalSteps', value: 1.5 })).toHaveProperty('error')
  expect(await ask(run, { act: 'drop-prompt', promptId: 'x' })).toHaveProperty('error')
  expect(await ask(run, { ask: 'chat' })).toEqual({ error: expect.stringContaining('no engine') })
  const { from } = (await ask(run, { act: 'set', option: 'optimizer.lr', value: 5e-4 })) as { from: number }
  expect(await ask(run, { act: 'set', option: 'evalSteps', value: 3 })).toEqual({
    message: `evalSteps is 3 from step ${from} on`,
    from,
  })
  expect((await ask(run, { ask: 'state' })).settings).toMatchObject([{ value: 5e-4 }, { value: 3 }])
  await ask(run, { act: 'checkpoint' })
  while ((await Run.read(run)).checkpoints.length === 0) await wait(5)
  await ask(run, { act: 'resume' })
  await ask(run, { act: 'stop' })
  expect(await training).toMatchObject({ outcome: 'stopped' })
  expect(existsSync(join(run, 'control.sock'))).toBe(false)
  expect((await Run.read(run)).status).toBe('stopped')

  expect(await runSft(jobOf(config, { resume: true }))).toMatchObject({ outcome: 'finished', step: 24 })
  const { metrics } = await Run.read(run)
  const rates = metrics.get('lr')!.filter(({ step }) => step >= from)
  expect(new Set(rates.map(({ value }) => value))).toEqual(new Set([5e-4]))
  expect(metrics.get('lr')!.find(({ step }) => step < from)?.value ?? 1e-3).toBe(1e-3)
  const evaluated = metrics.get('loss/validation')!.map(({ step }) => step)
  expect(evaluated.filter(step => step >= from && step % 3 === 0)).toContain(21)
  expect(evaluated.filter(step => step >= from && step < 24).every(step => step % 3 === 0)).toBe(true)
  expect(await replaySupervised(run)).toMatchObject({ batches: 24, mismatches: [], notCompared: [] })

  // The same acts in a run that nobody asks anything.
  const alone = configOf()
  const stop = new AbortController()
  const report = stoppingReport(text => text.startsWith('evaluating') && stop.abort())
  expect(await runSft(jobOf(alone, { report, signal: stop.signal }))).toMatchObject({ outcome: 'stopped', step: 0 })
  mkdirSync(join(alone.output, 'journal'), { recursive: true })
  cpSync(join(run, 'journal/acts.jsonl'), join(alone.output, 'journal/acts.jsonl'))
  await runSft(jobOf(alone, { resume: true }))
  const weights = (directory: string) => readFileSync(join(directory, 'final_model/model.safetensors'))
  expect(weights(alone.output).equals(weights(run))).toBe(true)
})
