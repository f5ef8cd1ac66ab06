/** `trajectories/000012.jsonl`: samples of an iteration with every number of their tokens, for people, scripts and the dashboard. */
import { dirname } from 'node:path'
import type { Experience } from '../../experience/index.js'
import { makeDirectory, writeFileAtomic } from '../../files/index.js'
import { trajectoryPath } from '../../run/index.js'
import { promptLength } from '../../sequence/index.js'
import type { RlConfig } from './config.js'
import { comparableLogprobs } from './engine-logprobs.js'
import { type KlSettings, referenceKl } from './reference-kl.js'

/** One line. Lists have one number per trained token of the response. */
export interface Trajectory {
  readonly iteration: number
  readonly prompt_id: string
  readonly sample: number
  readonly prompt: string
  readonly response: string
  readonly prompt_ids: readonly number[]
  readonly response_ids: readonly number[]
  readonly finish_reason: string
  readonly policy_version: number
  readonly reward: number
  readonly shaped_reward: number
  readonly components: Readonly<Record<string, number>>
  readonly metrics: Readonly<Record<string, number>>
  readonly advantages: readonly number[]
  readonly returns: readonly number[]
  readonly loss_mask: readonly number[]
  /** Places of the response that no model reads, and of which there are no numbers. */
  readonly unread?: readonly number[]
  readonly logprobs?: readonly number[]
  readonly engine_logprobs?: readonly number[]
  readonly ref_logprobs?: readonly number[]
  readonly entropies?: readonly number[]
  readonly kl?: readonly number[]
  readonly values?: readonly number[]
}

interface SaveOptions {
  readonly run: string
  readonly iteration: number
  readonly experiences: readonly Experience[]
  /** Of the policy that sampled, by sample. */
  readonly logprobs: readonly (Float32Array | undefined)[]
  readonly entropies: readonly (Float32Array | undefined)[]
  readonly config: KlSettings & Pick<RlConfig, 'temperature'>
  /** How many samples. */
  readonly count: number
}

interface PolicyNumbers {
  readonly logprobs: Float32Array | undefined
  readonly entropies: Float32Array | undefined
}

/** An iteration that is made again after an interruption writes the same file again. */
export async function saveTrajectories(options: SaveOptions): Promise<void> {
  const { run, iteration, experiences, logprobs, entropies, config, count } = options
  const path = trajectoryPath(run, iteration)
  const lines = experiences.slice(0, count).map((one, place) => {
    const numbers = { logprobs: logprobs[place], entropies: entropies[place] }
    return `${JSON.stringify(trajectoryOf(one, { iteration, config, ...numbers }))}\n`
  })
  await makeDirectory(dirname(path))
  await writeFileAtomic(path, lines.join(''))
}

function trajectoryOf(
  one: Experience,
  { iteration, logprobs, entropies, config }: Pick<SaveOptions, 'iteration' | 'config'> & PolicyNumbers,
): Trajectory {
  const { sequence, refLogprobs } = one
  const length = promptLength(sequence)
  const list = (values: ArrayLike<number> | undefined) => values && Array.from(values)
  const recorded = {
    logprobs: list(logprobs),
    engine_logprobs: list(comparableLogprobs(one.engineLogprobs, config.temperature)),
    ref_logprobs: list(refLogprobs),
    entropies: list(entropies),
    kl: list(one.kl ?? referenceKl({ logprobs, refLogprobs }, config)),
    values: list(one.values),
    unread: sequence.unread?.map(at => at - length),
  }
  return {
    iteration,
    prompt_id: sequence.promptId,
    sample: one.sample,
    prompt: one.texts.promptRaw,
    response: one.texts.responseRaw,
    prompt_ids: Array.from(sequence.ids.subarray(0, length)),
    response_ids: Array.from(sequence.ids.subarray(length)),
    finish_reason: one.finishReason,
    policy_version: one.policyVersion,
    reward: one.reward,
    shaped_reward: one.shapedReward,
    components: one.components,
    metrics: one.metrics,
    advantages: Array.from(one.advantages),
    returns: Array.from(one.returns),
    loss_mask: Array.from(one.lossMask),
    ...Object.fromEntries(Object.entries(recorded).filter(([, values]) => values !== undefined)),
  }
}
