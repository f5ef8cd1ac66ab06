/**
 * A run's training batches made again from its journal, by the code that made them, and compared with what was trained on.
 * Nothing of a model is needed: whoever would have been asked refuses.
 */
import { join } from 'node:path'
import { FastExperienceMaker, type Scorer } from '../../experience/index.js'
import type { Role } from '../../model/index.js'
import { sampleReward } from '../../reward/index.js'
import type { Generator } from '../../rollout/index.js'
import { Journal, JournalError, Run, RunError } from '../../run/index.js'
import { Tokenizer } from '../../text/index.js'
import { sampleDigest } from './batch-digest.js'
import { experienceOptionsOf, oldLogprobsOf, type RlConfig, referenceOf, rlSchema } from './config.js'
import { IterationJournal } from './iteration-journal.js'
import { iterationPlan } from './plan.js'

export interface ReplayReport {
  readonly iterations: number
  readonly samples: number
  readonly updates: number
  /** What differs, in words that name the iteration and the sample. Empty where all is as it was. */
  readonly mismatches: readonly string[]
}

export async function replayRl(directory: string): Promise<ReplayReport> {
  const { config: stored } = await Run.read(directory)
  const config = rlSchema.parse(stored.config)
  const maker = await makerWithoutModels(config, join(directory, 'tokenizer'))
  const journal = new Journal(join(directory, 'journal'))
  const counts = { iterations: 0, samples: 0, updates: 0 }
  const mismatches: string[] = []
  for (const iteration of await journal.iterations()) {
    const found = await replayIteration({ config, maker, journal, iteration }).catch((error: unknown) => {
      if (!(error instanceof JournalError) && !(error instanceof MissingError)) throw error
      return { samples: 0, updates: 0, mismatches: [`iteration ${iteration}: ${error.message}`] }
    })
    // An iteration that was cut off before its batch was whole was not trained on.
    if (!found) break
    counts.iterations++
    counts.samples += found.samples
    counts.updates += found.updates
    mismatches.push(...found.mismatches)
    // All that follows rests on what was learned here.
    if (found.mismatches.length > 0) break
  }
  return { ...counts, mismatches }
}

async function replayIteration(options: {
  config: RlConfig
  maker: FastExperienceMaker
  journal: Journal
  iteration: number
}): Promise<Omit<ReplayReport, 'iterations'> | undefined> {
  const { config, maker, journal, iteration } = options
  const recorded = await IterationJournal.open(journal, iteration)
  const { rollout, prompts, updates, end } = recorded
  if (!rollout) return undefined
  const mismatches: string[] = []
  const differs = (what: string): unknown => mismatches.push(`iteration ${iteration}: ${what}`)
  if (maker.klCoef !== rollout.klCoef) differs(`the KL coefficient was ${rollout.klCoef} and becomes ${maker.klCoef}`)

  const first = prompts.slice(0, config.rolloutBatchSize)
  const further = prompts.slice(config.rolloutBatchSize)
  const { experiences } = await maker.makeExperienceList(
    first.map(({ ids }) => ids),
    {
      ids: first.map(({ group }) => group),
      morePrompts: further.map(({ group, ids }) => ({ prompt: ids, id: group })),
      oldLogprobs: oldLogprobsOf(config),
      ...(rollout.oldestVersion === undefined ? {} : { oldestVersion: rollout.oldestVersion }),
      journal: recorded,
    },
  )
  if (experiences.length !== rollout.samples.length)
    differs(`${rollout.samples.length} samples were trained on, the journal gives ${experiences.length}`)
  for (const [place, one] of experiences.entries()) {
    const { group, sample } = one
    const name = `prompt ${group}, sample ${sample}`
    const before = rollout.samples[place]
    if (!before) continue
    const { given, derived } = sampleDigest(one)
    if (before.group !== group || before.sample !== sample)
      differs(`${name}: prompt ${before.group}, sample ${before.sample} was trained on in its place`)
    else if (before.given !== given)
      differs(`${name}: its tokens, reward, log-probabilities or values are not those that were trained on`)
    else if (before.derived !== derived) differs(`${name}: its advantages are not those that were trained on`)
  }

  const plan = iterationPlan(config, { iteration, samples: experiences.length })
  for (const [place, { step, model, epoch, places }] of updates.entries()) {
    const planned = plan[place]
    if (planned?.model !== model || planned.epoch !== epoch || planned.places.join() !== places.join())
      differs(`optimiser step ${step}: the samples of its batch are not those of the plan`)
  }
  if (end?.measuredKl) maker.observeKl(end.measuredKl)
  return { samples: experiences.length, updates: updates.length, mismatches }
}

/** Something was asked for that the journal should have. */
class MissingError extends RunError {
  override name = 'MissingError'
}

async function makerWithoutModels(config: RlConfig, tokenizerDirectory: string): Promise<FastExperienceMaker> {
  const refuse = (what: string) => async (): Promise<never> => {
    throw new MissingError(`the journal lacks ${what}`)
  }
  const scorer = <R extends Role>(what: string): Scorer<R> => ({
    score: refuse(what),
    offload: async () => {},
    reload: async () => {},
    maxLength: Number.MAX_SAFE_INTEGER,
    capabilities: { train: false, adapterOff: true, entropy: true, media: false, exports: [], offload: false },
  })
  const reference = referenceOf(config)
  return new FastExperienceMaker({
    ...experienceOptionsOf(config),
    enableEngineSleep: false,
    actor: scorer<'language'>("the actor's log-probabilities"),
    tokenizer: await Tokenizer.load(tokenizerDirectory),
    generator: refusingGenerator(),
    sources: [sampleReward(refuse('a reward'), { name: 'journal' })],
    onRewardFailure: 'stop',
    klController: config.klController,
    ...(reference === 'none' ? {} : { initialModel: scorer<'language'>("the reference's log-probabilities") }),
    ...(config.advantageEstimator === 'gae' ? { critic: scorer<'value'>("the critic's values") } : {}),
  })
}

function refusingGenerator(): Generator {
  const nothing = async (): Promise<void> => {}
  return {
    capabilities: {
      logprobs: ['raw', 'processed'],
      topLogprobs: 0,
      promptLogprobs: false,
      text: true,
      tokens: false,
      media: false,
      structured: [],
      sleep: false,
      weights: ['shared'],
    },
    counts: { running: 0, waiting: 0, promptTokens: 0, generatedTokens: 0 },
    maxLength: Number.MAX_SAFE_INTEGER,
    vocabSize: Number.MAX_SAFE_INTEGER,
    policyVersion: 0,
    // biome-ignore lint/correctness/useYield: there is nothing to give
    async *generate(requests) {
      for await (const { promptId, firstSample = 0 } of requests)
        throw new MissingError(`the journal lacks sample ${firstSample} of prompt ${promptId}`)
      return undefined
    },
    abort: () => {},
    abortAll: () => {},
    pause: nothing,
    resume: () => {},
    updateWeights: nothing,
    sleep: nothing,
    wake: nothing,
    close: nothing,
  }
}
