/** A process that dies at any point of a run costs no more than what came after its last checkpoint, and changes nothing. */
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
import { replaySupervised } from '../../../src/train/supervised/replay.js'
import { answerPairs } from '../../support/answers.js'
import { runCrashing } from '../../support/child.js'
import { compiledRoom } from '../../support/compiled.js'
import { fresh, jsonl } from '../../support/files.js'
import { jobOf } from '../../support/supervised.js'
import { modelDirectory } from '../../support/tiny-model.js'

const script = new URL('../children/supervised-run.mjs', import.meta.url)

async function settings() {
  const pairs = answerPairs(10, 1)
  const conversations = pairs.map(({ prompt, chosen }) => ({ prompt, completion: chosen }))
  const shared = { model: await modelDirectory(1), batchSize: 4, saveSteps: 2, optimizer: { lr: 1e-3 } }
  return { pairs: jsonl(pairs), conversations: jsonl(conversations), shared }
}

/** Three trainings of a few steps each, with checkpoints, evaluations and exports on the way. */
const trainings = {
  sft: async (output: string) => {
    const { conversations: data, shared } = await given
    const config = sftSchema.parse({ ...shared, data, validationData: data, output })
    return { config, resume: () => runSft(jobOf(config, { resume: true })) }
  },
  reward: async (output: string) => {
    const { pairs: data, shared } = await given
    const config = rewardModelSchema.parse({ ...shared, data, validationData: data, output })
    return { config, resume: () => runRewardModel(jobOf(config, { resume: true })) }
  },
  preference: async (output: string) => {
    const { pairs: data, shared } = await given
    const lora = { rank: 2, alpha: 4, dropout: 0.1 }
    const config = preferenceSchema.parse({ ...shared, data, validationData: data, lora, output })
    return { config, resume: () => runPreference(jobOf(config, { resume: true })) }
  },
}
const given = settings()

const models = (output: string) =>
  Buffer.concat(['best_model', 'final_model'].map(name => readFileSync(join(output, name, 'model.safetensors'))))
const losses = async (output: string) => (await Run.read(output)).metrics.get('loss/train')?.map(({ value }) => value)

test.each(Object.entries(trainings))(
  '%s',
  async (command, training) => {
    const whole = await training(fresh('whole'))
    const files = { CRASH_COUNT: fresh('count'), CRASH_LOG: fresh('log') }
    const run = (config: { output: string }, env: Record<string, string>) =>
      runCrashing(script, [compiledRoom('train'), command, JSON.stringify(config)], {
        CRASH_UNDER: config.output,
        ...env,
      })
    expect(await run(whole.config, files)).toMatchObject({ code: 0 })
    const points = readFileSync(files.CRASH_LOG, 'utf8').trim().split('\n')
    // At a step, and while checkpoints and exports are written.
    const step = points.findIndex(line => line.includes(' step '))
    const chosen = [step, 0.55 * points.length, 0.85 * points.length].map(Math.floor)
    for (const at of chosen) {
      const { config, resume } = await training(fresh('run'))
      const killed = await run(config, { CRASH_AT: String(at) })
      expect(killed.signal, `${points[at - 1]}: ${killed.output}`).toBe('SIGKILL')
      expect(await resume()).toMatchObject({ outcome: 'finished', step: 3 })
      expect(models(config.output).equals(models(whole.config.output)), points[at - 1]).toBe(true)
      expect(await losses(config.output), points[at - 1]).toEqual(await losses(whole.config.output))
      expect(await replaySupervised(config.output)).toMatchObject({ batches: 3, mismatches: [], notCompared: [] })
    }
  },
  60_000,
)
