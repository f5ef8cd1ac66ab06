/**
 * Recomputes the training batches of a run from its journal, with the code that made them, and compares them with the training.
 * No model is needed: a call to one throws.
 */
import { join } from 'node:path'
import type { Environment, EpisodeOptions } from '../../environment/index.js'
import { WhetstoneError } from '../../errors/index.js'
import { type ExperienceBatch, FastExperienceMaker, type Scorer } from '../../experience/index.js'
import type { Definition } from '../../maths/index.js'
import { type ImageInput, MediaError, MediaStore } from '../../media/index.js'
import type { MultimodalProcessor, Role } from '../../model/index.js'
import { sampleReward } from '../../reward/index.js'
import type { Generator } from '../../rollout/index.js'
import {
  actsInForce,
  Journal,
  JournalError,
  Run,
  type RunConfig,
  RunError,
  type RunView,
  readActs,
  runPaths,
} from '../../run/index.js'
import type { MediaItem } from '../../sequence/index.js'
import { Tokenizer } from '../../text/index.js'
import { restoredConfig } from '../config/definitions.js'
import { hasEnvironment } from '../config/environment.js'
import { span, trainedSoFar } from '../run/trained-so-far.js'
import { actedConfig, actedKlCoef, knownActs, withoutDroppedSamples } from './acts.js'
import { sampleDigest } from './batch-digest.js'
import { experienceOptionsOf, needsCritic, oldLogprobsOf, type RlConfig, referenceOf, rlSchema } from './config.js'
import { IterationJournal } from './iteration-journal.js'
import { iterationPlan } from './plan.js'
import type { RlState } from './state.js'

interface ReplayReport {
  readonly iterations: number
  readonly samples: number
  readonly updates: number
  /** Differences, with iteration and sample. Empty if there are none. */
  readonly mismatches: readonly string[]
  /** Batches that could not be compared, with the reason. Empty if all were compared. */
  readonly notCompared: readonly string[]
}

/** `definitions`: those that the run was given in code. */
export async function replayRl(
  directory: string,
  { definitions = [] }: { definitions?: readonly Definition[] } = {},
): Promise<ReplayReport> {
  const view = await Run.read(directory)
  let { config, otherVersions } = await configAt(view.config, 0, definitions)
  let maker = await makerWithoutModels(config, join(directory, 'tokenizer'))
  const journal = new Journal(join(directory, 'journal'))
  const media = new MediaStore(runPaths(directory).media, 1)
  const trained = await trainedIterations(view)
  const acts = knownActs(actsInForce(await readActs(directory), view.config.changes))
  const counts = { iterations: 0, samples: 0, updates: 0, done: 0 }
  const mismatches: string[] = []
  const notCompared: string[] = []
  const unlike: { files: string; first: number; last: number }[] = []
  const there = await journal.iterations()
  const end = Math.max(trained.iterations, (there.at(-1) ?? -1) + 1)
  for (let iteration = 0; iteration < end; iteration++) {
    if (iteration > 0 && view.config.changes.some(({ since }) => since === iteration)) {
      // As a resumed run does it: another maker, where the one before was left.
      ;({ config, otherVersions } = await configAt(view.config, iteration, definitions))
      const { state } = maker
      maker = await makerWithoutModels(config, join(directory, 'tokenizer'))
      maker.restore(state)
    }
    const expected = iteration < trained.iterations ? 'whole' : iteration === trained.iterations ? trained.updates : 0
    const acted = actedConfig(config, acts, iteration)
    const coef = actedKlCoef(acts, iteration)
    if (coef !== undefined) maker.restore({ ...maker.state, klController: { ...maker.state.klController, coef } })
    const files = otherVersions.join(', ')
    const derived = files === '' ? 'compare' : 'ignore'
    const found = await replayIteration({
      config: acted,
      acts,
      maker,
      journal,
      media,
      iteration,
      expected,
      derived,
    }).catch(error => {
      const nothing = { samples: 0, updates: 0, done: 0, lost: undefined }
      if (error instanceof JournalError || error instanceof MissingError || error instanceof MediaError)
        return { ...nothing, mismatches: [`iteration ${iteration}: ${error.message}`] }
      // This version of the estimator may need what that one did not.
      if (derived === 'ignore' && error instanceof WhetstoneError) return { ...nothing, mismatches: [] }
      throw error
    })
    // Samples of an iteration that was begun, and of which nothing was trained.
    if (!found) break
    if (found.samples + found.mismatches.length > 0 || found.lost === undefined) counts.iterations++
    counts.samples += found.samples
    counts.updates += found.updates
    counts.done += found.done
    mismatches.push(...found.mismatches)
    if (found.lost !== undefined) notCompared.push(`iteration ${iteration}: ${found.lost}`)
    if (derived === 'ignore') {
      const before = unlike.at(-1)
      if (before?.files === files && before.last === iteration - 1) before.last = iteration
      else unlike.push({ files, first: iteration, last: iteration })
    }
    const known = derived === 'compare' || !config.rewardRunningNorm
    if (found.mismatches.length === 0 && found.lost === undefined && known) continue
    // All later iterations depend on this one.
    if (iteration + 1 < trained.iterations)
      notCompared.push(
        `${span('iteration', iteration + 1, trained.iterations - 1)}: not compared, because they depend on iteration ${iteration}`,
      )
    break
  }
  const { done, ...compared } = counts
  const complete = mismatches.length + notCompared.length === 0
  if (complete && done < trained.steps)
    notCompared.push(`the run made ${trained.steps} optimiser steps, and the journal has ${done}`)
  else if (complete && counts.iterations === 0) notCompared.push('nothing was trained yet: there is nothing to compare')
  for (const { files, first, last } of unlike)
    notCompared.push(
      `${span('iteration', first, last)}: advantages not compared, made with another version of ${files}`,
    )
  return { ...compared, mismatches, notCompared }
}

/** The config that an iteration was trained with: resumes may have been allowed to change it since. */
export async function configAt(
  { config, changes, inputs }: RunConfig,
  iteration: number,
  given: readonly Definition[],
): Promise<{ config: RlConfig; otherVersions: readonly string[] }> {
  const values = structuredClone(config) as Record<string, unknown>
  const files = structuredClone(inputs ?? {}) as Record<string, Record<string, string>>
  for (const { key, from, since = 0 } of [...changes].reverse()) {
    if (since <= iteration) continue
    // With a space: a file.
    const [, option, name] = key.match(/^(\S+) (.*)$/) ?? []
    if (option !== undefined) {
      if (typeof from === 'string') files[option] = { ...files[option], [name!]: from }
      continue
    }
    const path = key.split('.')
    const last = path.pop()!
    let place = values
    for (const name of path) {
      place[name] ??= {}
      place = place[name] as Record<string, unknown>
    }
    if (from === null) delete place[last]
    else place[last] = from
  }
  const changed = changes.map(({ key }) => key)
  const needed = ['advantageEstimator'] as const
  const restored = await restoredConfig(values, { inputs: files, changed, given, needed })
  const read = rlSchema.safeParse(restored.config)
  if (!read.success) {
    const [issue] = read.error.issues
    const what = issue ? ` (${issue.path.join('.')}: ${issue.message})` : ''
    throw new RunError(`this version cannot read the config of the run${what}`, { cause: read.error })
  }
  return { config: read.data, otherVersions: restored.otherVersions }
}

/** How far the run came: complete iterations, updates of the next one, and all optimiser steps. */
async function trainedIterations(view: RunView): Promise<{ iterations: number; updates: number; steps: number }> {
  const { logged, saved, checkpoint } = await trainedSoFar(view)
  const state = checkpoint?.state as unknown as RlState | undefined
  const iterations = Math.max(logged, state?.iteration ?? 0)
  return { iterations, updates: state?.iteration === iterations ? state.updates.length : 0, steps: saved }
}

interface ReplayedIteration {
  readonly samples: number
  readonly updates: number
  /** Optimiser steps that changed weights. */
  readonly done: number
  readonly mismatches: readonly string[]
  /** What of it could not be compared. */
  readonly lost: string | undefined
}

/** Undefined where nothing of the iteration was trained, and nothing had to be. */
async function replayIteration(
  options: RecordedParts & {
    journal: Journal
    /** The updates that the journal has to have. */
    expected: 'whole' | number
    /** `ignore`: another version of the estimator made the advantages. */
    derived: 'compare' | 'ignore'
  },
): Promise<ReplayedIteration | undefined> {
  const { config, maker, journal, iteration, expected } = options
  const recorded = await IterationJournal.open(journal, iteration)
  const { rollout, updates, end } = recorded
  if (!rollout && expected === 0) return undefined
  if (!rollout)
    return {
      samples: 0,
      updates: 0,
      done: 0,
      mismatches: [],
      lost: 'not compared, its batch is missing in the journal',
    }
  const mismatches: string[] = []
  const differs = (what: string): unknown => mismatches.push(`iteration ${iteration}: ${what}`)
  if (maker.klCoef !== rollout.klCoef) differs(`the KL coefficient was ${rollout.klCoef} and becomes ${maker.klCoef}`)

  const { experiences } = await recordedBatch(options, recorded)
  if (experiences.length !== rollout.samples.length)
    differs(`the run trained on ${rollout.samples.length} samples, and the journal gives ${experiences.length}`)
  for (const [place, one] of experiences.entries()) {
    const {
      sequence: { promptId },
      sample,
    } = one
    const name = `prompt ${promptId}, sample ${sample}`
    const before = rollout.samples[place]
    if (!before) continue
    const { given, derived } = sampleDigest(one)
    if (before.promptId !== promptId || before.sample !== sample)
      differs(`${name}: prompt ${before.promptId}, sample ${before.sample} was trained on in its place`)
    else if (before.given !== given)
      differs(`${name}: tokens, images, reward, log-probabilities or values differ from the training`)
    else if (before.derived !== derived && options.derived === 'compare')
      differs(`${name}: advantages differ from the training`)
  }

  const plan = iterationPlan(config, { iteration, samples: experiences.length })
  for (const [place, { step, model, epoch, places }] of updates.entries()) {
    const planned = plan[place]
    if (planned?.model !== model || planned.epoch !== epoch || planned.places.join() !== places.join())
      differs(`optimiser step ${step}: the samples of its batch differ from the plan`)
  }
  if (end?.measuredKl) maker.observeKl(end.measuredKl)
  const stopped = updates.at(-1)?.outcome === 'stopped'
  const wanted = expected === 'whole' ? (stopped ? updates.length : plan.length) : expected
  const missing = wanted - updates.length
  const lost =
    missing > 0
      ? `${missing} of its ${wanted} optimiser steps are missing in the journal`
      : expected === 'whole' && !end
        ? 'its end is missing in the journal'
        : undefined
  const done = updates.filter(({ outcome }) => outcome === 'done').length
  return { samples: experiences.length, updates: updates.length, done, mismatches, lost }
}

/** The batch of an iteration, made again of what its journal has and of what people did to it. */
export async function recordedBatch(
  { config, acts, maker, media, iteration }: RecordedParts,
  recorded: IterationJournal,
): Promise<ExperienceBatch> {
  const rows = await Promise.all(
    recorded.prompts.map(async ({ promptId, ids, media: kept = [] }) => ({
      prompt: ids,
      promptId,
      images: (await Promise.all(kept.map(one => media.read(one)))) as unknown as ImageInput[],
    })),
  )
  const { temperature, rolloutBatchSize } = config
  const { oldestVersion } = recorded.rollout ?? {}
  const options = {
    morePrompts: rows.slice(rolloutBatchSize),
    oldLogprobs: oldLogprobsOf(config),
    ...(oldestVersion === undefined ? {} : { oldestVersion }),
    temperature,
    journal: recorded,
  }
  const generated = await maker.generateSamples(rows.slice(0, rolloutBatchSize), options)
  return maker.completeExperiences(withoutDroppedSamples(generated, acts, iteration), options)
}

interface RecordedParts {
  /** Of the iteration, with what was set for it. */
  readonly config: RlConfig
  readonly acts: ReturnType<typeof knownActs>
  readonly maker: FastExperienceMaker
  readonly media: MediaStore
  readonly iteration: number
}

/** Something was asked for that the journal should have. */
class MissingError extends RunError {
  override name = 'MissingError'
}

export async function makerWithoutModels(config: RlConfig, tokenizerDirectory: string): Promise<FastExperienceMaker> {
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
    processor: keptMedia,
    generator: refusingGenerator(),
    sources: [sampleReward(refuse('a reward'), { name: 'journal' })],
    onRewardFailure: 'stop',
    klController: config.klController,
    ...(hasEnvironment(config)
      ? { environment: refusingEnvironment(refuse('an episode')), episode: recordedLimits(config) }
      : {}),
    ...(reference === 'none' ? {} : { reference: scorer<'language'>("the reference's log-probabilities") }),
    ...(needsCritic(config) ? { critic: scorer<'value'>("the critic's values") } : {}),
  })
}

/** Prompts of the journal have all placeholders, and their media at their places. */
const keptMedia: Pick<MultimodalProcessor, 'process'> = {
  process: async (given, { images }) => {
    const ids = Int32Array.from(given)
    const media = images as readonly MediaItem[]
    return { kind: 'processed', ids, media, from: Int32Array.from(ids, (_, i) => i), images: [], videos: [] }
  },
}

/** A replay opens no session and calls no tool. */
function refusingEnvironment(open: Environment['open']): Environment {
  return { name: 'journal', version: '', adds: [], open }
}

/** Turns are read from the journal, whatever the chat template would make of them. */
function recordedLimits({ episode }: Pick<RlConfig, 'episode'>): EpisodeOptions {
  return { ...episode, history: 'append' }
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
      structured: ['regex', 'json-schema', 'ebnf'],
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
