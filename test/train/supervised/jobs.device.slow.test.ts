/** Supervised trainings on a device, in the dtype it trains in: they learn, and a stop changes no bit. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { Run } from '../../../src/run/index.js'
import { preferenceSchema } from '../../../src/train/preference/config.js'
import { runPreference } from '../../../src/train/preference/job.js'
import { rewardModelSchema } from '../../../src/train/reward-model/config.js'
import { runRewardModel } from '../../../src/train/reward-model/job.js'
import { sftSchema } from '../../../src/train/sft/config.js'
import { runSft } from '../../../src/train/sft/job.js'
import { answerPairs } from '../../support/answers.js'
import { device, onCuda } from '../../support/device.js'
import { fresh, jsonl } from '../../support/files.js'
import { jobOf, stoppingReport } from '../../support/supervised.js'
import { modelDirectory } from '../../support/tiny-model.js'

const pairs = jsonl(answerPairs(24, 1))
const conversations = jsonl(answerPairs(24, 1).map(({ prompt, chosen }) => ({ prompt, completion: chosen })))

const settings = async () => ({
  ...{ model: await modelDirectory(1), device, batchSize: 8, epochs: 2, gradientCheckpointing: true },
  ...{ tokenBudget: 128, optimizer: { lr: 3e-3, schedule: 'linear', warmupSteps: 1 } },
})

/** The job of each trainer over a run directory. */
const trainings = {
  sft: async (output: string) => {
    const config = sftSchema.parse({ ...(await settings()), data: conversations, output })
    return (rest: object) => runSft(jobOf(config, rest))
  },
  reward: async (output: string) => {
    const config = rewardModelSchema.parse({ ...(await settings()), data: pairs, output })
    return (rest: object) => runRewardModel(jobOf(config, rest))
  },
  preference: async (output: string) => {
    const lora = { rank: 4, alpha: 16, dropout: 0.05 }
    const config = preferenceSchema.parse({ ...(await settings()), data: pairs, lora, output })
    return (rest: object) => runPreference(jobOf(config, rest))
  },
}

test.each(Object.entries(trainings))('%s', async (command, training) => {
  const [whole, parts] = [fresh('whole'), fresh('parts')]
  expect(await (await training(whole))({})).toMatchObject({ outcome: 'finished', step: 6 })
  const { metrics } = await Run.read(whole)
  const losses = metrics.get('loss/train')!.map(({ value }) => value)
  expect(losses.at(-1)).toBeLessThan(losses[0]!)
  expect(metrics.has('memory/device_peak')).toBe(onCuda)

  const stop = new AbortController()
  const report = stoppingReport(text => text.startsWith(`${command} 3/`) && stop.abort())
  const job = await training(parts)
  // A step in 16 bits is shown while the device makes the next one, and a stop finishes that.
  const step = onCuda ? 4 : 3
  expect(await job({ report, signal: stop.signal })).toMatchObject({ outcome: 'stopped', step })
  expect(await job({ resume: true })).toMatchObject({ outcome: 'finished', step: 6 })
  const weights = (output: string) => readFileSync(join(output, 'final_model', 'model.safetensors'))
  expect(weights(parts).equals(weights(whole))).toBe(true)
})
