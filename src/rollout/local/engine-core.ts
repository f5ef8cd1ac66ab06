/**
 * The loop of a local engine: continuous batching over a paged KV cache. It plans a step, runs it on the device, reads the tokens and ends
 * finished samples. A free place is filled in the next step, or after several where the device takes several at a time.
 */
import { type Adapter, type LocalModel, MergedWeights, type PolicyVersion } from '../../model/index.js'
import type { GenerationRequest, GeneratorCounts, Rejection } from '../generator.js'
import { BlockPool, type SessionTokens } from './blocks.js'
import { type BatchSource, buildBatch, type SamplingRow } from './build-batch.js'
import type { LocalEngineOptions } from './engine-options.js'
import { admit, type Limits, tooLargeForMemory } from './input-processor.js'
import { budgetBytes, type DeviceMemory, deviceMemory, type KvBudget, kvBudget } from './kv-budget.js'
import { decodesOnly, hasOnePosition, planMultiStep } from './multi-step.js'
import { OutputProcessor, type SampledRow } from './output-processor.js'
import { type Listener, PromptPrefix, RequestState, SequenceState } from './request-state.js'
import { type Plan, Scheduler } from './scheduler.js'
import type { MultiStepDecode, StepDevice, StepResult } from './step.js'
import { deviceDefaults, openStepDevice } from './step-device.js'
import { fillRopePositions, type MediaWork, type PromptMedia, stepMedia } from './step-media.js'

export type EngineCounts = Required<GeneratorCounts>

export class EngineCore {
  readonly limits: Limits
  readonly maxSequences: number
  readonly exchangesAdapters: boolean
  /** Version of the weights that the next token is sampled from. */
  version: PolicyVersion
  private readonly weights: MergedWeights
  private readonly device: StepDevice
  private readonly kv: { budget: KvBudget; memory: DeviceMemory }
  private readonly scheduler: Scheduler<SequenceState>
  private readonly requestStates = new Map<string, RequestState>()
  private readonly controls: (() => void)[] = []
  private awaken: (() => void) | undefined
  private readonly ended: Promise<void>
  private state: 'awake' | 'asleep' | 'closed' = 'awake'
  private pauses = 0
  private modelVersion: PolicyVersion
  /** Version of the weights that the KV cache was computed with; undefined: the sampling copies are not made yet. */
  private weightsRevision: number | undefined
  private totals = { promptTokens: 0, steps: 0 }
  private sampledRows: SampledRow[] = []
  /** Sessions whose KV cache is kept until it is released, or needed by other sequences. */
  private readonly sessions = new Set<string>()
  private readonly output: OutputProcessor
  private readonly source: BatchSource<SequenceState> = {
    tokens: ({ of, start, count }, into, at) => {
      if (of instanceof SequenceState) of.copyTokens(start, count, into, at)
      else into.set((of as PromptPrefix).requestState.promptIds.subarray(start, start + count), at)
    },
    ropePositions: (work, into, at) => fillRopePositions(mediaOf(work), work, into, at),
    samplingRows: work => this.samplingRowsOf(work),
  }

  constructor(
    private readonly model: LocalModel<'language'>,
    options: LocalEngineOptions,
  ) {
    const defaults = deviceDefaults(model.device)
    const { maxSequences, tokenBudget, scoredBytes } = { ...defaults, ...options }
    const { context, vocabSize, vision } = model.config.decoder
    const maxLength = Math.min(context, options.maxLength ?? context)
    const { tokenizer } = options
    this.maxSequences = maxSequences
    this.kv = { budget: kvBudget(options, defaults.kv), memory: options.memory ?? deviceMemory }
    const exchangeable = options.adapters === 'exchangeable'
    if (exchangeable && model.parts.adapter)
      throw new RangeError('the model already has an adapter; merge it, or leave adapters out')
    this.exchangesAdapters = exchangeable
    this.weights = new MergedWeights(model.parts, { adapter: exchangeable ? 'exchangeable' : 'own' })
    this.device = openStepDevice(model, this.weights.parts, { maxSequences, maxLength })
    try {
      this.takeMemory()
    } catch (error) {
      this.device.dispose()
      throw error
    }
    const eosIds = options.eosIds ?? tokenizer?.stopIds ?? []
    this.limits = { vocabSize, maxLength, blocks: this.device.blocks, eosIds, tokenizer, vision }
    this.scheduler = new Scheduler(new BlockPool(this.device.blocks), {
      maxSequences,
      tokenBudget,
      scoredRows: Math.max(16, Math.floor(scoredBytes / (4 * vocabSize))),
      refillAfter: this.device.multiStep?.syncInterval ?? 0,
    })
    this.output = new OutputProcessor(tokenizer, (sample, end) => {
      this.scheduler.finish(sample, end === 'finished' ? this.keptOf(sample) : undefined)
      const { samples, request } = sample.requestState
      if (samples.every(({ state }) => state === 'finished')) this.requestStates.delete(request.id)
    })
    this.version = model.version
    this.modelVersion = model.version
    this.ended = this.loop().catch(error => this.collapse(error))
  }

  /** It sleeps, and no caller of `pause` will resume it. */
  get isAsleep(): boolean {
    return this.state === 'asleep' && this.pauses === 0
  }

  get counts(): EngineCounts {
    return { ...this.scheduler.counts, ...this.totals, generatedTokens: this.output.tokens }
  }

  /** Allocates all memory but the model's: first what has a fixed size, then the KV cache from the rest. */
  private takeMemory(): void {
    this.demandModel()
    this.weights.take()
    try {
      this.device.allocate(budgetBytes(this.kv.budget, this.kv.memory, this.model.device))
    } catch (error) {
      this.weights.release()
      throw error
    }
    this.weightsRevision = undefined
  }

  private giveMemory(): void {
    this.device.release()
    this.weights.release()
  }

  private demandModel(): void {
    if (this.model.offloaded) throw new Error('the model is offloaded; call reload() before an engine uses it')
    if (this.model.broken) throw new Error(this.model.broken)
  }

  /** Takes a request and reports its tokens and outcomes to the listener. Returns a function that aborts it. Requests of a `caller` share turns. */
  check(request: GenerationRequest): readonly Rejection[] | undefined {
    const admitted = admit(request, { onOutcome() {} }, this.limits)
    return admitted instanceof RequestState ? undefined : admitted
  }

  submit(request: GenerationRequest, listener: Listener, caller: object): () => void {
    if (this.state === 'closed') throw new Error('the engine is closed')
    if (this.requestStates.has(request.id))
      throw new RangeError(`a request with the id ${JSON.stringify(request.id)} is already in flight`)
    const admitted = admit(request, listener, this.limits)
    if (!(admitted instanceof RequestState)) {
      // Later: a listener is never called before this returns.
      for (const rejection of admitted) queueMicrotask(() => listener.onOutcome(rejection))
      return () => {}
    }
    this.requestStates.set(request.id, admitted)
    for (const sample of admitted.samples) this.scheduler.add(sample, caller)
    this.continueSession(admitted)
    this.wakeLoop()
    return () => this.abortRequest(admitted)
  }

  private continueSession({ request, promptIds, scores, samples: [sample] }: RequestState): void {
    const { session, media = [] } = request
    if (session === undefined) return
    this.sessions.add(session)
    // A scored prompt needs the logits of all its rows.
    if (!scores) this.scheduler.continueSession(sample!, session, { ids: promptIds, media })
  }

  /** The tokens of a finished sample that its session keeps. The last token was sampled and not computed. */
  private keptOf(sample: SequenceState): (SessionTokens & { session: string }) | undefined {
    const { session, media = [] } = sample.requestState.request
    if (session === undefined || !this.sessions.has(session)) return undefined
    const ids = new Int32Array(Math.min(sample.computed, sample.length - 1))
    sample.copyTokens(0, ids.length, ids, 0)
    return { session, ids, media }
  }

  releaseSession(session: string): void {
    this.sessions.delete(session)
    this.scheduler.releaseSession(session)
  }

  abort(requestId: string): void {
    const requestState = this.requestStates.get(requestId)
    if (requestState) this.abortRequest(requestState)
  }

  abortAll(): void {
    for (const requestState of [...this.requestStates.values()]) this.abortRequest(requestState)
  }

  private abortRequest(requestState: RequestState): void {
    for (const sample of requestState.samples) void this.output.finish(sample, 'abort', undefined, this.version)
  }

  updateWeights(version: PolicyVersion): Promise<void> {
    return this.control(() => {
      this.version = version
      this.modelVersion = this.model.version
    })
  }

  /** The next step samples with this adapter; the KV cache of other weights is dropped. */
  useAdapter(adapter: Adapter | undefined): Promise<void> {
    if (!this.exchangesAdapters)
      return Promise.reject(new RangeError('the engine was made without adapters: exchangeable'))
    return this.control(() => {
      this.weights.exchange(adapter && ((layer, projection) => adapter.lowRank(layer, projection)))
      this.weightsRevision = undefined
    })
  }

  /** Resolves when no step runs; none starts before `resume`. */
  pause(): Promise<void> {
    this.pauses++
    return this.control(() => {})
  }

  resume(): void {
    this.pauses = Math.max(0, this.pauses - 1)
    this.wakeLoop()
  }

  sleep(): Promise<void> {
    return this.control(() => {
      if (this.state !== 'awake') return
      this.state = 'asleep'
      this.scheduler.invalidateKv(new BlockPool(0))
      this.giveMemory()
    })
  }

  wake(): Promise<void> {
    return this.control(() => {
      if (this.state !== 'asleep') return
      this.takeMemory()
      this.limits.blocks = this.device.blocks
      this.scheduler.invalidateKv(new BlockPool(this.device.blocks))
      this.state = 'awake'
      this.rejectTooLarge()
    })
  }

  /** Rejects requests that no longer fit: there may be less memory than before. */
  private rejectTooLarge(): void {
    for (const { samples, promptIds } of [...this.requestStates.values()])
      for (const sample of samples.slice()) {
        const refused = tooLargeForMemory(promptIds.length + sample.maxNewTokens, this.limits)
        if (refused) this.output.reject(sample, refused)
      }
  }

  async close(): Promise<void> {
    this.abortAll()
    this.state = 'closed'
    this.wakeLoop()
    await this.ended
    this.device.dispose()
    this.weights.release()
  }

  /** Runs `change` between two steps. */
  private control(change: () => void): Promise<void> {
    if (this.state === 'closed') return Promise.reject(new Error('the engine is closed'))
    return new Promise((resolve, reject) => {
      this.controls.push(() => {
        try {
          change()
          resolve()
        } catch (error) {
          reject(error)
        }
      })
      this.wakeLoop()
    })
  }

  private wakeLoop(): void {
    this.awaken?.()
    this.awaken = undefined
  }

  private async loop(): Promise<void> {
    for (;;) {
      for (const change of this.controls.splice(0)) change()
      if (this.state === 'closed') return
      if (this.state === 'asleep' || this.pauses > 0 || this.scheduler.isIdle) {
        await new Promise<void>(resolve => {
          this.awaken = resolve
        })
        continue
      }
      let plan: Plan<SequenceState> | undefined
      try {
        await this.followModel()
        plan = this.plan()
        this.sampledRows = []
        if (plan) await this.run(plan)
      } catch (error) {
        this.fail(plan, error)
      }
    }
  }

  /** Runs a plan: one step, or several where the device can and every row is the last token of a sample. */
  private async run(plan: Plan<SequenceState>): Promise<void> {
    const several = this.planMultiStep(plan)
    const batch = buildBatch(plan, this.source)
    const { vision } = this.limits
    if (vision) batch.media = stepMedia(batch, mediaWorks(plan), vision)
    if (!several || !hasOnePosition(batch)) {
      await this.take(plan, await this.device.step(batch), 1)
      if (several) this.scheduler.trim(plan)
      return
    }
    const rows = plan.scheduled.length
    const pieces = this.device.decodeMultiStep!(batch, several)
    for (let next = await pieces.next(); !next.done; ) {
      const steps = next.value.ids.length / rows
      for (const work of plan.scheduled) work.count = steps
      await this.take(plan, next.value, steps)
      for (const work of plan.scheduled) work.start += steps
      next = await pieces.next(this.goesOn(plan) ? 'more' : 'enough')
    }
    this.scheduler.trim(plan)
  }

  private planMultiStep(plan: Plan<SequenceState>): MultiStepDecode | undefined {
    const { device, scheduler } = this
    if (!device.multiStep || !device.decodeMultiStep || !decodesOnly(plan)) return undefined
    const { steps, syncInterval, top } = device.multiStep
    const samples = plan.scheduled.map(({ of }) => of as SequenceState)
    // Does not reserve blocks for many steps while other sequences wait for blocks.
    const most = scheduler.counts.waiting > 0 ? Math.min(steps, 4 * syncInterval) : steps
    const found = planMultiStep(samples, { steps: most, top })
    return found && { ...found, syncInterval, steps: scheduler.reserveSteps(plan, found.steps, found.budgets) }
  }

  /** Whether to go on with a multi-step plan. */
  private goesOn(plan: Plan<SequenceState>): boolean {
    if (this.state !== 'awake' || this.pauses > 0 || this.controls.length > 0) return false
    if (this.model.weightsRevision !== this.weightsRevision || this.scheduler.admits) return false
    // Fewer rows are faster, but the steps that have started must be waited for.
    return 2 * this.scheduler.counts.running > plan.scheduled.length
  }

  /** Changed weights get another version, and the KV cache of the old ones is dropped. */
  private async followModel(): Promise<void> {
    this.demandModel()
    while (this.model.weightsRevision !== this.weightsRevision) {
      this.version += this.model.version - this.modelVersion
      this.modelVersion = this.model.version
      const revision = this.model.weightsRevision
      this.scheduler.invalidateKv()
      await this.weights.refresh()
      this.weightsRevision = revision
    }
  }

  private plan(): Plan<SequenceState> | undefined {
    const plan = this.scheduler.next()
    const now = performance.now()
    for (const { of, count } of plan?.scheduled ?? []) {
      if (of instanceof SequenceState) of.started ??= now
      if (of instanceof PromptPrefix || count > 1) this.totals.promptTokens += count
    }
    return plan
  }

  private samplingRowsOf({ of, start, count, samples }: Plan<SequenceState>['scheduled'][number]): SamplingRow[] {
    const owner = of as SequenceState | PromptPrefix
    const samplingRows: SamplingRow[] = []
    const { requestState } = owner
    // A sample without its shared prefix scores the prompt itself.
    if (requestState.scores) {
      const end = Math.min(start + count, requestState.scoredTo)
      for (let position = start; position < end; position++) samplingRows.push(requestState.promptSamplingRow(position))
    }
    if (owner instanceof SequenceState && samples) samplingRows.push(owner.samplingRow())
    for (const samplingRow of samplingRows) this.sampledRows.push({ samplingRow, of: owner })
    return samplingRows
  }

  private async take(plan: Plan<SequenceState>, result: StepResult, steps: number): Promise<void> {
    // The weights changed during the step: its tokens have no version, so it runs again.
    if (this.model.weightsRevision !== this.weightsRevision) return
    this.scheduler.commit(plan, steps)
    this.totals.steps += steps
    for (let step = 0; step < steps; step++)
      await this.output.take(this.sampledRows, result, step * this.sampledRows.length, this.version)
  }

  /** The loop failed, which is a bug: fails all requests in flight, so that none waits forever. */
  private collapse(error: unknown): void {
    this.state = 'closed'
    const message = error instanceof Error ? error.message : String(error)
    for (const requestState of [...this.requestStates.values()])
      for (const sample of requestState.samples.slice()) this.output.fail(sample, 'engine', message)
    for (const change of this.controls.splice(0)) change()
  }

  /** A step that failed ends its samples, or all samples where it has none, but not the engine. */
  private fail(plan: Plan<SequenceState> | undefined, error: unknown): void {
    const message = error instanceof Error ? error.message : String(error)
    const owners = plan ? plan.scheduled.map(({ of }) => of as SequenceState | PromptPrefix) : undefined
    const failed = owners
      ? owners.flatMap(of => (of instanceof SequenceState ? [of] : of.requestState.samples.slice()))
      : [...this.requestStates.values()].flatMap(({ samples }) => samples)
    for (const sample of failed) this.output.fail(sample, 'engine', message)
  }
}

/** The images and videos of the prompt that this work is of. */
function mediaOf({ of }: Plan<SequenceState>['scheduled'][number]): PromptMedia | undefined {
  return (of as SequenceState | PromptPrefix).requestState.media
}

function mediaWorks({ scheduled }: Plan<SequenceState>): MediaWork[] {
  const works: MediaWork[] = []
  let row = 0
  for (const work of scheduled) {
    const media = mediaOf(work)
    if (media) works.push({ start: work.start, count: work.count, row, media })
    row += work.count
  }
  return works
}
