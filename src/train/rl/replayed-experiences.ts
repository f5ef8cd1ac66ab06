/** The experiences of one iteration, made again from its journal with the code that made them; no model is needed. */
import { join } from 'node:path'
import type { Experience, ExperienceBatch } from '../../experience/index.js'
import { MediaStore } from '../../media/index.js'
import { actsInForce, type Journal, Run, RunError, readActs, runPaths } from '../../run/index.js'
import { actedConfig, knownActs } from './acts.js'
import { sampleDigest } from './batch-digest.js'
import { comparableLogprobs } from './engine-logprobs.js'
import { IterationJournal } from './iteration-journal.js'
import { configAt, makerWithoutModels, recordedBatch } from './replay.js'

export interface ReplayedExperiences {
  readonly experiences: readonly ReplayedExperience[]
}

export interface ReplayedExperience extends Experience {
  /** The engine's log-probabilities where they can be compared with the trainer's. */
  readonly comparable: Float32Array | undefined
  /** Whether advantages are those of the training, bit for bit. */
  readonly isSame: boolean
}

/** With running normalisation an iteration depends on all before it: no more than these are replayed for a look at one. */
const mostBefore = 500

/** Throws a RunError where the journal has no batch of the iteration. */
export async function replayedExperiences(directory: string, iteration: number): Promise<ReplayedExperiences> {
  const { config: recorded, journal } = await Run.read(directory)
  const { config } = await configAt(recorded, iteration, [])
  const acts = knownActs(actsInForce(await readActs(directory), recorded.changes))
  const maker = await makerWithoutModels(config, join(directory, 'tokenizer'))
  const media = new MediaStore(runPaths(directory).media, 1)
  const made = async (one: number, from: IterationJournal): Promise<ExperienceBatch> =>
    recordedBatch({ config: actedConfig(config, acts, one), acts, maker, media, iteration: one }, from)
  const wanted = await IterationJournal.open(journal as Journal, iteration)
  const { rollout } = wanted
  if (!rollout) throw new RunError(`iteration ${iteration} has no batch in the journal yet`)
  if (config.rewardRunningNorm) {
    if (iteration > mostBefore)
      throw new RunError(
        `advantages of iteration ${iteration} depend on all iterations before it (rewardRunningNorm); at most ${mostBefore} are replayed for it`,
      )
    for (let before = 0; before < iteration; before++)
      await made(before, await IterationJournal.open(journal as Journal, before))
  }
  const { state } = maker
  maker.restore({ ...state, klController: { ...state.klController, coef: rollout.klCoef } })
  const { experiences } = await made(iteration, wanted)
  const { temperature } = actedConfig(config, acts, iteration)
  const digests = new Map(rollout.samples.map(({ promptId, sample, derived }) => [`${sample} ${promptId}`, derived]))
  return {
    experiences: experiences.map(one => ({
      ...one,
      comparable: comparableLogprobs(one.engineLogprobs, temperature),
      isSame: digests.get(`${one.sample} ${one.sequence.promptId}`) === sampleDigest(one).derived,
    })),
  }
}
