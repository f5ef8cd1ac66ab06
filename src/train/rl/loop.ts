/**
 * The reinforcement learning loop, from top to bottom: prompts, a rollout with rewards and advantages, its updates, an
 * evaluation, a checkpoint; repeat.
 */
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { linkedController } from '../../errors/index.js'
import {
  EngineLostError,
  EnvironmentLostError,
  type ExperienceBatch,
  type MakeProgress,
  RewardsLostError,
} from '../../experience/index.js'
import { recoverDirectory } from '../../files/index.js'
import { RewardStoppedError } from '../../reward/index.js'
import type { DiagnosisWatch, Run } from '../../run/index.js'
import type { Tokenizer } from '../../text/index.js'
import { type StepRates, stepRates } from '../config/common.js'
import { watchDiagnoses } from '../run/diagnosed.js'
import { exportModel } from '../run/export-model.js'
import { MetricSummaries, type MetricSummary, type TrainProgress } from '../run/progress.js'
import { actedConfig, actedKlCoef, droppedRows, fewestRows, withoutDroppedSamples } from './acts.js'
import { answerChat } from './chat-request.js'
import { objectiveOptionsOf, oldLogprobsOf, type RlConfig, updatesPerIteration } from './config.js'
import { checkGap, OtherWeightsError, samplingOf } from './engine-gap.js'
import { evaluate, heldOutPrompts } from './evaluate.js'
import { IterationClock } from './iteration-clock.js'
import { begunBefore, IterationJournal } from './iteration-journal.js'
import {
  criticSummary,
  doneBy,
  haltedBy,
  iterationMetrics,
  measuredKl,
  policySummary,
  summarizedMetrics,
  type UpdateSummary,
} from './iteration-metrics.js'
import type { RlParts } from './parts.js'
import { iterationPlan, type PlannedUpdate } from './plan.js'
import { openRlControl } from './rl-control.js'
import { completeRollout, type DrawnPrompts, drawPrompts, generateRollout } from './rollout.js'
import { rolloutWarnings } from './rollout-warnings.js'
import { RolloutsAhead } from './rollouts-ahead.js'
import { initialState, type RlState, restoreCheckpoint, saveCheckpoint } from './state.js'
import { saveTrajectories } from './trajectories.js'
import { updateCritic, updatePolicy } from './update.js'

interface RlLoopOptions {
  readonly config: RlConfig
  readonly iterations: number
  readonly parts: RlParts
  readonly run: Run
  readonly progress: TrainProgress
  /** What the devices hold, for the metrics. */
  readonly memory: () => Readonly<Record<string, number>>
  /** For chats with the policy. */
  readonly tokenizer: Tokenizer
  /** Requests a stop: the current optimiser step finishes, and everything is saved. */
  readonly signal: AbortSignal
}

export interface RlLoopResult {
  readonly outcome: 'finished' | 'stopped'
  readonly state: RlState
  /** Of the last iteration. */
  readonly metrics: Readonly<Record<string, number>>
  readonly summary: Readonly<Record<string, MetricSummary>>
  /** What was wrong with it, by its metrics. */
  readonly found: DiagnosisWatch['found']
}

export async function trainRl(options: RlLoopOptions): Promise<RlLoopResult> {
  const { config, iterations, parts, run, progress, signal } = options
  const { actor, critic, ema, maker, prompts, ptx, syncWeights, turns } = parts
  const packing = config.packingSamples ? 'on' : 'off'
  const perIteration = updatesPerIteration(config)
  const policyRates = ({ optimizer }: RlConfig) => stepRates(optimizer, iterations * perIteration)
  const criticRates = config.critic && stepRates(config.critic.optimizer, iterations * perIteration)
  const heldOut = parts.heldOut ? await heldOutPrompts(parts.heldOut, config.evaluation.maxPrompts) : []

  const latest = await run.latest()
  if (latest) progress.stage('reading the checkpoint')
  const restored = latest && (await restoreCheckpoint(latest, parts))
  let state = restored ?? initialState(parts)
  progress.begin(state.iteration)
  let saved = restored
  let metrics: Record<string, number> = {}
  const summaries = new MetricSummaries(summarizedMetrics)
  const diagnoses = await watchDiagnoses(run, progress)
  const warnOfRollout = rolloutWarnings({ run, progress, promptMaxLen: maker.config.promptMaxLen })
  const save = async (): Promise<void> => {
    if (state === saved) return
    progress.stage('saving', 'a checkpoint')
    await saveCheckpoint(run, parts, state)
    saved = state
  }
  const stopped = async (): Promise<RlLoopResult> => {
    await save()
    return { outcome: 'stopped', state, metrics, summary: summaries.all, found: diagnoses.found }
  }
  interface Begun {
    readonly journal: IterationJournal
    readonly drawn: DrawnPrompts
    readonly temperature: number
  }
  let rollouts: RolloutsAhead<Begun, Awaited<ReturnType<typeof generateRollout>>> | undefined
  // Iterations that an earlier process began are made as they were begun.
  const before = await begunBefore(run.journal, state.iteration)
  const control = await openRlControl({
    run,
    config,
    rows: fewestRows(prompts.size, config.data),
    heldOut: heldOut.length,
    klCoef: () => maker.klCoef,
    batched: before.batched,
    iteration: () => state.iteration,
    next: () => Math.max(before.next, rollouts?.nextIteration ?? 0),
    chat: async (question, send, gone) => {
      // Models may have the device, and the engine may sleep.
      await turns.beginGeneration()
      const { tokenizer } = options
      await answerChat({ generator: parts.generator, tokenizer }, question, { send, signal: gone }).finally(() =>
        turns.end(),
      )
    },
  })
  try {
    return await trainControlled()
  } finally {
    await control.close()
  }

  async function trainControlled(): Promise<RlLoopResult> {
    progress.stage('giving the weights to the engine')
    await syncWeights()
    await keepingState(evaluateIfDue)
    if (signal.aborted && state.evaluationDue) return stopped()
    // An episode may wait long for its environment: those of later iterations use the places that are free.
    const together = config.maxStaleness > 0 && (await maker.episodeRules()) !== undefined
    const ahead: NonNullable<typeof rollouts> = new RolloutsAhead({
      first: state.iteration,
      end: iterations,
      ahead: config.maxStaleness,
      start: together ? 'together' : 'in-turn',
      // Finished samples of an interrupted attempt come from the journal.
      draw: async iteration => {
        const acts = await control.settled()
        const { temperature } = actedConfig(config, acts, iteration)
        const leaveOut = droppedRows(acts, iteration)
        const journal = await IterationJournal.open(run.journal, iteration, parts.media)
        await journal.keepResumed({ updates: iteration === state.iteration ? state.updates.length : 0 })
        const { rolloutBatchSize } = config
        const spare = together ? 'copy' : 'stream'
        return { journal, temperature, drawn: await drawPrompts({ prompts, rolloutBatchSize, leaveOut, spare }) }
      },
      make: async (begun, iteration, ended) => {
        const stop = linkedController([signal, ended])
        // Show only the rollout that the loop waits for, not those of later iterations.
        const onProgress = (made: MakeProgress): void => {
          if (iteration === state.iteration && state.updates.length === 0) showMaking(made)
        }
        return generateRollout({ maker, ...begun, signal: stop.signal, onProgress }).finally(() => stop.unlink())
      },
    })
    rollouts = ahead
    try {
      return await keepingState(() => iterate(ahead))
    } catch (error) {
      await ahead.stop()
      // A resumed run asks the servers again, for this iteration and for those after it.
      if (error instanceof OtherWeightsError) await run.journal.discardFrom(state.iteration)
      throw error
    } finally {
      await ahead.stop()
    }
  }

  /** If rewards, engines or environments fail, save the training so far, so that the run can resume. */
  async function keepingState<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work()
    } catch (error) {
      const lost = [RewardsLostError, RewardStoppedError, EngineLostError, EnvironmentLostError].some(
        kind => error instanceof kind,
      )
      if (lost)
        await save().catch(cause => {
          const why = cause instanceof Error ? cause.message : String(cause)
          warn(`the state could not be saved (${why}); a resumed run continues from the previous checkpoint`)
        })
      throw error
    }
  }

  async function iterate(ahead: NonNullable<typeof rollouts>): Promise<RlLoopResult> {
    while (!isLast(state)) {
      const { iteration } = state
      const clock = new IterationClock()
      // What people have set: for this iteration and those after it.
      const coef = actedKlCoef(await control.settled(), iteration)
      if (coef !== undefined) maker.restore({ ...maker.state, klController: { ...maker.state.klController, coef } })
      const policyVersion = actor.version - doneBy(state.updates, 'policy')

      // A rollout.
      progress.stage('generating')
      const klCoef = maker.klCoef
      const queue = config.maxStaleness > 0 ? { 'rollouts/ahead': ahead.ready } : {}
      const rollout = await unlessStopped(ahead.take(iteration))
      if (!rollout) return stopped()
      clock.lap('generation')
      const { journal, reused, cursor } = rollout
      const acts = await control.batchOf(iteration)
      const acted = actedConfig(config, acts, iteration)
      const generated = withoutDroppedSamples(rollout.generated, acts, iteration)
      const batch = await unlessStopped(
        completeRollout(
          { ...rollout, generated },
          {
            maker,
            temperature: acted.temperature,
            oldLogprobs: oldLogprobsOf(acted),
            oldestVersion: policyVersion - config.maxStaleness * perIteration,
            signal,
            onProgress: showMaking,
          },
        ),
      )
      if (!batch) return stopped()
      clock.takeRollout(batch)
      // A checkpoint in the middle of an iteration has them in its logs.
      if (state.updates.length === 0)
        for (const { promptId, sample, ...why } of batch.dropped)
          run.skipped({ where: `${promptId}, sample ${sample}`, iteration, ...why })

      // Its updates, from where they were left off.
      const { experiences } = batch
      warnOfRollout(batch, iteration)
      const plan = iterationPlan(config, { iteration, samples: experiences.length })
      const logprobs = experiences.map(one => one.logprobs)
      const entropies = experiences.map(one => one.entropies)
      if (state.updates.length === 0) checkSamples(acted, experiences, logprobs)
      for (const [place, planned] of plan.entries()) {
        if (place < state.updates.length) {
          if (planned.model === 'policy' && config.ptx) await ptx?.take(config.ptx.batchSize)
          continue
        }
        if (haltedBy(state.updates, planned)) continue
        const showUpdate = (done: number): void => {
          const step = plan.length > 1 ? `step ${place + 1} of ${plan.length}, ` : ''
          const which = planned.model === 'critic' ? 'the critic, ' : ''
          progress.stage('updating', `${which}${step}${done} of ${planned.places.length} samples`)
        }
        showUpdate(0)
        const update = await makeUpdate(planned, batch, {
          ...{ config: acted, klCoef, logprobs, entropies },
          onSamples: showUpdate,
        })
        const advanced = update.outcome === 'done' ? 1 : 0
        state = {
          ...state,
          updates: [...state.updates, update],
          step: state.step + advanced,
          policySteps: state.policySteps + (planned.model === 'policy' ? advanced : 0),
          criticSteps: state.criticSteps + (planned.model === 'critic' ? advanced : 0),
        }
        await journal.keepUpdate({ ...planned, step: state.step, outcome: update.outcome })
        if (signal.aborted && place + 1 < plan.length) return stopped()
      }
      clock.lap('update')
      // If a stop ends the wait for servers, nothing more is requested from them; the resumed run starts here.
      progress.stage('giving the weights to the engine')
      await unlessStopped(syncWeights())
      clock.lap('sync')

      // Its metrics, and the state of the next iteration.
      const measured = batch.info.kl === undefined ? measuredKl({ batch, logprobs, config: acted }) : undefined
      if (measured) maker.observeKl(measured)
      await journal.keepEnd(measured ? { measuredKl: measured } : {})
      const { updates } = state
      const { epoch, position } = cursor
      metrics = {
        ...iterationMetrics({
          batch,
          updates,
          klCoef,
          logprobs,
          config: acted,
          policyVersion,
          reused,
          epoch: epoch + position / prompts.size,
          seconds: clock.seconds,
        }),
        ...queue,
        ...options.memory(),
      }
      const last = isLast({ ...state, iteration: iteration + 1 })
      const { every } = acted.evaluation
      state = {
        ...state,
        iteration: iteration + 1,
        evaluationDue: heldOut.length > 0 && (last || (iteration + 1) % every === 0),
        updates: [],
        cursor,
        ptxCursor: ptx?.cursor,
        maker: maker.state,
      }
      if (iteration % config.sampleEvery === 0) logSamples(batch, iteration)
      if (config.saveTrajectories)
        await saveTrajectories({
          ...{ run: run.directory, iteration, experiences, logprobs, entropies, config: acted },
          count: config.numTrajectoriesToSave,
        })
      log(metrics)
      await evaluateIfDue()

      if (config.exportEvery && state.iteration % config.exportEvery === 0) await exportIteration(state.iteration)
      if (last || Math.floor(state.step / config.saveSteps) > Math.floor((saved?.step ?? 0) / config.saveSteps))
        await save()
      if (signal.aborted && (!last || state.evaluationDue)) return stopped()
      if (!last && (await control.between({ save, signal })) === 'stop') return stopped()
    }
    diagnoses.end(state.iteration)
    return { outcome: 'finished', state, metrics, summary: summaries.all, found: diagnoses.found }
  }

  function showMaking({ stage, done, total }: MakeProgress): void {
    progress.stage(makingWords[stage], `${done} of ${total} samples`)
  }

  function isLast({ iteration, policySteps }: RlState): boolean {
    return iteration >= iterations || policySteps >= (config.maxSteps ?? Number.POSITIVE_INFINITY)
  }

  async function makeUpdate(
    planned: PlannedUpdate,
    { experiences }: ExperienceBatch,
    { config: acted, klCoef, logprobs, entropies, onSamples }: UpdateContext,
  ): Promise<UpdateSummary> {
    const chosen = planned.places.map(place => experiences[place]!)
    if (planned.model === 'critic') {
      const rates: StepRates = criticRates!(state.criticSteps)
      const { aggregation, maxNewTokens } = config
      const { valueClip } = config.critic!
      const update = await turns.use(critic!, () =>
        updateCritic({
          ...{ critic: critic!, experiences: chosen, valueClip, aggregation, maxNewTokens, rates, packing, onSamples },
        }),
      )
      return criticSummary(update, rates.lr)
    }
    const rates = policyRates(acted)(state.policySteps)
    const mixedIn =
      ptx && config.ptx ? { examples: await ptx.take(config.ptx.batchSize), coef: config.ptx.coef } : undefined
    const update = await turns.use(actor, async () => {
      const made = await updatePolicy({
        actor,
        experiences: chosen,
        objective: objectiveOptionsOf(acted, { klCoef }),
        ptx: mixedIn,
        sampling: samplingOf(acted),
        rates,
        packing,
        targetKl: config.targetKl,
        onSamples,
        // Where the rollout was not scored, this is the first look at it.
        beforeStep:
          state.updates.length === 0
            ? // A training pass may have dropout: what the rollout was scored with is compared, where it was.
              found =>
                checkSamples(
                  acted,
                  chosen,
                  chosen.map((one, i) => one.logprobs ?? found[i]),
                )
            : undefined,
      })
      if (made.step) await ema?.follow()
      return made
    })
    // If the rollout was not scored, the numbers of its single update stand for the sampling policy.
    for (const [k, place] of planned.places.entries()) {
      logprobs[place] ??= update.logprobs[k]!
      entropies[place] ??= update.entropies[k]
    }
    return policySummary(update, rates.lr)
  }

  /** Check before training that the samples come from the policy. */
  function checkSamples(
    acted: RlConfig,
    experiences: ExperienceBatch['experiences'],
    logprobs: readonly (Float32Array | undefined)[],
  ): void {
    const { agreement } = parts.generator
    const { version, capabilities } = actor
    const { iteration } = state
    const placeholders = capabilities.media
    checkGap({ experiences, logprobs, config: acted, version, dtype: parts.dtype, agreement, iteration, placeholders })
  }

  /** Undefined where the run was asked to stop in the middle of it: what was finished is in the journal. */
  async function unlessStopped<T>(work: Promise<T>): Promise<T | undefined> {
    try {
      return await work
    } catch (error) {
      if (signal.aborted) return undefined
      throw error
    }
  }

  function log(values: Readonly<Record<string, number>>, of: 'step' | 'evaluation' = 'step'): void {
    metrics = { ...metrics, ...values }
    summaries.add(values)
    run.metrics(state.iteration, values, of)
    progress.step(state.iteration, values)
    diagnoses.step(state.iteration, values)
  }

  /** Evaluates on held-out prompts and exports the policy if it is the best so far. A stop leaves it to the resumed run. */
  async function evaluateIfDue(): Promise<void> {
    if (!state.evaluationDue || signal.aborted) return
    progress.stage('evaluating')
    const { iteration } = state
    const onProgress = ({ done, total }: MakeProgress): void =>
      progress.stage('evaluating', `${done} of ${total} samples`)
    const found = await unlessStopped(
      evaluate({ maker, prompts: heldOut, config: config.evaluation, signal, onProgress }),
    )
    if (signal.aborted && !found) return
    state = { ...state, evaluationDue: false }
    if (!found) return
    log(found.metrics, 'evaluation')
    run.event('evaluation', { iteration, ...found.metrics })
    // The start is the first best model: no policy that is worse than it can be one.
    if (state.best && found.reward <= state.best.reward) return
    state = { ...state, best: { iteration, reward: found.reward } }
    progress.stage('saving', 'the best model')
    const { keep } = config
    await turns.use(actor, () => exportModel(actor, { run: run.directory, name: 'best', keep }))
  }

  async function exportIteration(iteration: number): Promise<void> {
    const directory = join(run.directory, `iteration_${String(iteration).padStart(6, '0')}`)
    const values = join(directory, 'value_model')
    // Of an attempt at this iteration that was interrupted.
    await recoverDirectory(values)
    await rm(values, { recursive: true, force: true })
    const what = config.keep === 'adapters' ? 'adapter' : 'model'
    await turns.use(actor, () => actor.export(directory, { what }))
    if (critic) await turns.use(critic, () => critic.export(values, { what: 'model' }))
  }

  function warn(message: string): void {
    run.event('warning', { message })
    progress.warn(message)
  }

  function logSamples({ experiences }: ExperienceBatch, iteration: number): void {
    for (const { sequence, sample, prompt, response, reward, components, metrics } of experiences.slice(0, 3))
      run.sample({ iteration, prompt_id: sequence.promptId, sample, prompt, response, reward, components, metrics })
  }
}

/** What an update needs beside its samples. */
interface UpdateContext {
  /** Of this iteration. */
  readonly config: RlConfig
  readonly klCoef: number
  /** Of the policy that sampled; those of the first update are written here where the rollout was not scored. */
  readonly logprobs: (Float32Array | undefined)[]
  readonly entropies: (Float32Array | undefined)[]
  readonly onSamples: (done: number) => void
}

const makingWords: Readonly<Record<MakeProgress['stage'], string>> = {
  generating: 'generating',
  rewards: 'waiting for rewards',
  actor: 'scoring by the policy',
  reference: 'scoring by the reference',
  critic: 'scoring by the critic',
}
