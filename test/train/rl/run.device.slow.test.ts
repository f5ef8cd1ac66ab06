/** Reinforcement learning on a device, in the dtype it trains in: a stop changes neither a batch nor a bit. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { replayRl } from '../../../src/train/rl/index.js'
import { device } from '../../support/device.js'
import { fresh } from '../../support/files.js'
import { finalWeights, metricLines, smallRun, start } from '../../support/rl.js'

// A head of 64: what the GPU's attention has kernels for.
const base = await smallRun({ seed: 1, prompts: 6, hidden: 64, headDim: 64 }, { device, iterations: 2 })

test.each([
  { algorithm: 'grpo', trainBatchSize: 4 },
  { algorithm: 'ppo', nSamplesPerPrompt: 2, critic: {}, gradientCheckpointing: true },
  { algorithm: 'rloo', lora: { rank: 4, dropout: 0.1 } },
])('$algorithm stopped and resumed is the run that was not', async options => {
  const [whole, parts] = [fresh('run'), fresh('run')]
  await start({ ...base, ...options, output: whole })
  await start({ ...base, ...options, output: parts }, { stopAt: 'generating' })
  await start({ ...base, ...options, output: parts }, { resume: true, stopAt: 'updating' })
  expect((await start({ ...base, ...options, output: parts }, { resume: true })).outcome).toBe('finished')
  for (const run of [whole, parts]) expect(await replayRl(run)).toMatchObject({ mismatches: [], notCompared: [] })
  const batches = async (run: string): Promise<string[]> =>
    (await readFile(join(run, 'journal', '000001.jsonl'), 'utf8'))
      .split('\n')
      .filter(line => line.includes('"rollout"'))
  expect(await batches(parts)).toEqual(await batches(whole))
  expect(finalWeights(parts).equals(finalWeights(whole))).toBe(true)
  for (const { values } of await metricLines(whole)) {
    expect(values['gap/mean']).toBeLessThan(0.05)
    // Activations come and go between two readings.
    if (device !== 'cpu') expect(values['memory/device_peak']).toBeGreaterThan(values['memory/device']!)
  }
})
