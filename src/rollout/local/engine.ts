/**
 * Generation in this process, with the weights of a model that may be training: continuous batching over a KV cache in
 * blocks. One loop plans a step, runs it on the device, takes the tokens, and ends what is finished; a slot that becomes
 * free is filled in the next step, or where a device takes several at a time, after those under way.
 */
import type { LocalModel, PolicyVersion } from '../../model/index.js'
import type { Tokenizer } from '../../text/index.js'
import type {
  GenerateOptions,
  GenerationRequest,
  Generator,
  GeneratorCapabilities,
  GeneratorCounts,
  Outcome,
  WeightsUpdate,
} from '../generator.js'
import { OutcomeQueue } from '../outcome-queue.js'
import { BlockPool } from './blocks.js'
import { type BatchSource, buildBatch, type SamplingRow } from './build-batch.js'
import { admit, type Limits } from './input-processor.js'
import { decodesOnly, planMultiStep } from './multi-step.js'
import { OutputProcessor, type SampledRow } from './output-processor.js'
import { type Listener, PromptPrefix, RequestState, SequenceState } from './request-state.js'
import { type Plan, Scheduler } from './scheduler.js'
import type { MultiStepDecode, StepDevice, StepResult } from './step.js'
import { deviceDefaults, openStepDevice } from './step-device.js'

export interface LocalEngineOptions {
  /** For stop strings and text. Its stop ids end responses, unless `eosIds` says otherwise. */
  tokenizer?: Tokenizer
  /** Tokens that end a response; the first is the one that needs no mention as a stop reason. */
  eosIds?: readonly number[]
  /** Memory for keys and values. Default 1 GiB, on CUDA two fifths of what is free; less where sequences cannot fill it. */
  cacheBytes?: number
  /** Sequences that generate at once. Default 128, on CUDA 256. */
  maxSequences?: number
  /** Tokens of a sequence. Default: the model's context. */
  maxLength?: number
  /**
   * Tokens of prompts in a step, which come beside the next tokens of others; only a longer prompt is divided. Default 1024, on
   * CUDA 32,768.
   */
  tokenBudget?: number
}

export interface EngineCounts extends GeneratorCounts {
  usedBlocks: number
  blocks: number
  preemptions: number
  steps: number
}

export class LocalEngine implements Generator {
  private readonly device: StepDevice
  private readonly scheduler: Scheduler<SequenceState>
  private readonly requestStates = new Map<string, RequestState>()
  private readonly limits: Limits
  private readonly controls: (() => void)[] = []
  private awaken: (() => void) | undefined
  private readonly ended: Promise<void>
  private state: 'awake' | 'asleep' | 'closed' = 'awake'
  private pauses = 0
  private version: PolicyVersion
  private modelVersion: PolicyVersion
  /** Of the weights that the KV cache was computed with. */
  private weightsRevision: number
  private totals = { promptTokens: 0, generatedTokens: 0, steps: 0 }
  private sampledRows: SampledRow[] = []
  private readonly output: OutputProcessor
  private readonly source: BatchSource<SequenceState> = {
    tokens: ({ of, start, count }, into, at) => {
      if (of instanceof SequenceState) of.copyTokens(start, count, into, at)
      else into.set((of as PromptPrefix).requestState.promptIds.subarray(start, start + count), at)
    },
    samplingRows: work => this.samplingRowsOf(work),
  }

  constructor(
    private readonly model: LocalModel<'language'>,
    options: LocalEngineOptions = {},
  ) {
    const { maxSequences, cacheBytes, tokenBudget, scoredBytes } = { ...deviceDefaults(model.device), ...options }
    const { context, vocabSize } = model.config.decoder
    const maxLength = Math.min(context, options.maxLength ?? context)
    this.device = openStepDevice(model, { cacheBytes, maxSequences, maxLength })
    const { tokenizer } = options
    const eosIds = options.eosIds ?? tokenizer?.stopIds ?? []
    this.limits = { vocabSize, maxLength, blocks: this.device.blocks, eosIds, tokenizer }
    this.scheduler = new Scheduler(new BlockPool(this.limits.blocks), {
      maxSequences,
      tokenBudget,
      scoredRows: Math.max(16, Math.floor(scoredBytes / (4 * vocabSize))),
      refillAfter: this.device.multiStep?.syncInterval ?? 0,
    })
    this.output = new OutputProcessor(tokenizer, sample => {
      this.scheduler.finish(sample)
      const { samples, request } = sample.requestState
      if (samples.every(({ state }) => state === 'finished')) this.requestStates.delete(request.id)
    })
    this.version = model.version
    this.modelVersion = model.version
    this.weightsRevision = model.weightsRevision
    this.ended = this.loop().catch(error => this.collapse(error))
  }

  get counts(): EngineCounts {
    return { ...this.scheduler.counts, ...this.totals }
  }

  /** Tokens a prompt and its response may have together. */
  get maxLength(): number {
    return this.limits.maxLength
  }

  get vocabSize(): number {
    return this.limits.vocabSize
  }

  get capabilities(): GeneratorCapabilities {
    return {
      logprobs: ['raw', 'processed'],
      topLogprobs: this.limits.vocabSize,
      promptLogprobs: true,
      text: this.limits.tokenizer !== undefined,
      tokens: true,
      media: false,
      sleep: true,
      weights: ['shared'],
    }
  }

  get policyVersion(): PolicyVersion {
    return this.version
  }

  generate(
    requests: Iterable<GenerationRequest>,
    options: GenerateOptions = {},
  ): AsyncIterableIterator<Outcome, undefined> {
    options.signal?.throwIfAborted()
    const { onToken } = options
    // The requestStates themselves: by the time of an abort their names may be others'.
    const requestStates: RequestState[] = []
    const abort = (): void => {
      for (const requestState of requestStates) this.abortRequest(requestState)
    }
    const queue = new OutcomeQueue<Outcome>(() => {
      options.signal?.removeEventListener('abort', abort)
      abort()
    })
    options.signal?.addEventListener('abort', abort)
    try {
      for (const request of requests) {
        queue.expect(request.n ?? 1)
        const requestState = this.submit(request, {
          ...(onToken ? { onToken } : {}),
          onOutcome: outcome => queue.push(outcome),
        })
        if (requestState) requestStates.push(requestState)
      }
    } catch (error) {
      queue.return()
      throw error
    }
    queue.seal()
    return queue
  }

  /** Takes a request; its listener hears of every token, where it wants to, and of each sample's outcome. */
  submit(request: GenerationRequest, listener: Listener): RequestState | undefined {
    if (this.state === 'closed') throw new Error('the engine is closed')
    if (this.requestStates.has(request.id))
      throw new RangeError(`a request ${JSON.stringify(request.id)} is in flight already`)
    const admitted = admit(request, listener, this.limits)
    if (!(admitted instanceof RequestState)) {
      // Later, as any outcome: a listener is never called before this returns.
      for (const rejection of admitted) queueMicrotask(() => listener.onOutcome(rejection))
      return undefined
    }
    this.requestStates.set(request.id, admitted)
    for (const sample of admitted.samples) this.scheduler.add(sample)
    this.wakeLoop()
    return admitted
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

  /**
   * Training in the same process changes the weights in place, so there is nothing to move: this names them. What was
   * computed with the old weights is computed again for requests in flight, so that every later token is the new weights'.
   * A change without this call is noticed, and counted from the last name by the model's own steps.
   */
  updateWeights({ version }: WeightsUpdate): Promise<void> {
    return this.control(() => {
      this.version = version
      this.modelVersion = this.model.version
      this.weightsRevision = this.model.weightsRevision
      this.scheduler.invalidateKv()
    })
  }

  /** Resolves when no step is running, and none starts before `resume`: for changing weights with requests in flight. */
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
      this.device.release()
    })
  }

  wake(): Promise<void> {
    return this.control(() => {
      if (this.state !== 'asleep') return
      this.device.allocate()
      this.scheduler.invalidateKv(new BlockPool(this.limits.blocks))
      this.state = 'awake'
    })
  }

  async close(): Promise<void> {
    this.abortAll()
    this.state = 'closed'
    this.wakeLoop()
    await this.ended
    this.device.dispose()
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
      const plan = this.plan()
      if (!plan) continue
      try {
        this.sampledRows = []
        await this.run(plan)
      } catch (error) {
        this.fail(plan, error)
      }
    }
  }

  /** Runs a plan: one step, or several where the device can and every row is the last token of a sample. */
  private async run(plan: Plan<SequenceState>): Promise<void> {
    const several = this.planMultiStep(plan)
    if (!several) {
      await this.take(plan, await this.device.step(buildBatch(plan, this.source)), 1)
      return
    }
    const rows = plan.scheduled.length
    const pieces = this.device.decodeMultiStep!(buildBatch(plan, this.source), several)
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
    // Blocks that others wait for are not taken for many steps.
    const most = scheduler.counts.waiting > 0 ? Math.min(steps, 4 * syncInterval) : steps
    const found = planMultiStep(samples, { steps: most, top })
    return found && { ...found, syncInterval, steps: scheduler.reserveSteps(plan, found.steps, found.budgets) }
  }

  /** Whether a multi-step plan is still the best there is to do. */
  private goesOn(plan: Plan<SequenceState>): boolean {
    if (this.state !== 'awake' || this.pauses > 0 || this.controls.length > 0) return false
    if (this.model.weightsRevision !== this.weightsRevision || this.scheduler.admits) return false
    // Fewer rows are faster; but what is under way has to be waited for.
    return 2 * this.scheduler.counts.running > plan.scheduled.length
  }

  private plan(): Plan<SequenceState> | undefined {
    if (this.model.weightsRevision !== this.weightsRevision) {
      this.version += this.model.version - this.modelVersion
      this.modelVersion = this.model.version
      this.weightsRevision = this.model.weightsRevision
      this.scheduler.invalidateKv()
    }
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
    // A sample that lost its prefix to others scores the prompt itself.
    if (requestState.scores) {
      const end = Math.min(start + count, requestState.scoredTo)
      for (let position = start; position < end; position++) samplingRows.push(requestState.promptSamplingRow(position))
    }
    if (owner instanceof SequenceState && samples) samplingRows.push(owner.samplingRow())
    for (const samplingRow of samplingRows) this.sampledRows.push({ samplingRow, of: owner })
    return samplingRows
  }

  private async take(plan: Plan<SequenceState>, result: StepResult, steps: number): Promise<void> {
    // Weights that changed under a step make its tokens nobody's: it is run again.
    if (this.model.weightsRevision !== this.weightsRevision) return
    this.scheduler.commit(plan, steps)
    this.totals.steps += steps
    for (let step = 0; step < steps; step++)
      this.totals.generatedTokens += await this.output.take(
        this.sampledRows,
        result,
        step * this.sampledRows.length,
        this.version,
      )
  }

  /** The loop itself failed, which it should not: nobody is left waiting. */
  private collapse(error: unknown): void {
    this.state = 'closed'
    const message = error instanceof Error ? error.message : String(error)
    for (const requestState of [...this.requestStates.values()])
      for (const sample of requestState.samples.slice()) this.output.fail(sample, 'engine', message)
    for (const change of this.controls.splice(0)) change()
  }

  /** A step that could not be run ends its samples, not the engine. */
  private fail(plan: Plan<SequenceState>, error: unknown): void {
    const message = error instanceof Error ? error.message : String(error)
    for (const { of } of plan.scheduled) {
      for (const sample of of instanceof SequenceState ? [of] : (of as PromptPrefix).requestState.samples.slice())
        this.output.fail(sample, 'engine', message)
    }
  }
}
