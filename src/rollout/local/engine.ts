/**
 * Generation in this process, with the weights of a model that may be training: continuous batching over a KV cache in
 * blocks. One loop plans a step, runs it on the device, takes the tokens, and ends what is finished; a slot that becomes
 * free is filled in the next step, or where a device takes several at a time, after those under way.
 */
import type { TokenModel } from '../../model/index.js'
import type { Tokenizer } from '../../text/index.js'
import type { GenerationRequest, Generator, Outcome, PolicyVersion } from '../generator.js'
import { OutcomeQueue } from '../outcome-queue.js'
import { admit, type Limits } from './admission.js'
import { BlockPool } from './blocks.js'
import { type Draw, fillStep, type StepSource } from './fill-step.js'
import { type Drawn, Intake } from './intake.js'
import { decodesOnly, lookAhead } from './look-ahead.js'
import { Job, type Listener, PromptPrefix, Sample } from './sample.js'
import { type Plan, Scheduler } from './scheduler.js'
import type { DecodeAhead, StepDevice, StepResult } from './step.js'
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

export interface EngineCounts {
  running: number
  waiting: number
  usedBlocks: number
  blocks: number
  preemptions: number
  promptTokens: number
  generatedTokens: number
  steps: number
}

export class LocalEngine implements Generator {
  private readonly device: StepDevice
  private readonly scheduler: Scheduler<Sample>
  private readonly jobs = new Map<string, Job>()
  private readonly limits: Limits
  private readonly controls: (() => void)[] = []
  private awaken: (() => void) | undefined
  private readonly ended: Promise<void>
  private state: 'awake' | 'asleep' | 'closed' = 'awake'
  private pauses = 0
  private version: PolicyVersion
  private modelVersion: number
  private totals = { promptTokens: 0, generatedTokens: 0, steps: 0 }
  private drawn: Drawn[] = []
  private readonly intake: Intake
  private readonly source: StepSource<Sample> = {
    tokens: ({ of, start, count }, into, at) => {
      if (of instanceof Sample) of.copyTokens(start, count, into, at)
      else into.set((of as PromptPrefix).job.promptIds.subarray(start, start + count), at)
    },
    draws: work => this.drawsOf(work),
  }

  constructor(
    private readonly model: TokenModel<'language'>,
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
      refillAfter: this.device.ahead?.look ?? 0,
    })
    this.intake = new Intake(tokenizer, sample => {
      this.scheduler.finish(sample)
      const { samples, request } = sample.job
      if (samples.every(({ state }) => state === 'finished')) this.jobs.delete(request.id)
    })
    this.version = model.version
    this.modelVersion = model.version
    this.ended = this.loop().catch(error => this.collapse(error))
  }

  get counts(): EngineCounts {
    return { ...this.scheduler.counts, ...this.totals }
  }

  /** Tokens a prompt and its response may have together. */
  get maxLength(): number {
    return this.limits.maxLength
  }

  get policyVersion(): PolicyVersion {
    return this.version
  }

  generate(
    requests: Iterable<GenerationRequest>,
    options: { signal?: AbortSignal } = {},
  ): AsyncIterableIterator<Outcome, undefined> {
    options.signal?.throwIfAborted()
    // The jobs themselves: by the time of an abort their names may be others'.
    const jobs: Job[] = []
    const abort = (): void => {
      for (const job of jobs) this.abortJob(job)
    }
    const queue = new OutcomeQueue<Outcome>(() => {
      options.signal?.removeEventListener('abort', abort)
      abort()
    })
    options.signal?.addEventListener('abort', abort)
    try {
      for (const request of requests) {
        queue.expect(request.n ?? 1)
        const job = this.submit(request, { onOutcome: outcome => queue.push(outcome) })
        if (job) jobs.push(job)
      }
    } catch (error) {
      queue.return()
      throw error
    }
    queue.seal()
    return queue
  }

  /** Takes a request; its listener hears of every token, where it wants to, and of each sample's outcome. */
  submit(request: GenerationRequest, listener: Listener): Job | undefined {
    if (this.state === 'closed') throw new Error('the engine is closed')
    if (this.jobs.has(request.id)) throw new RangeError(`a request ${JSON.stringify(request.id)} is in flight already`)
    const admitted = admit(request, listener, this.limits)
    if (!(admitted instanceof Job)) {
      // Later, as any outcome: a listener is never called before this returns.
      for (const rejection of admitted) queueMicrotask(() => listener.onOutcome(rejection))
      return undefined
    }
    this.jobs.set(request.id, admitted)
    for (const sample of admitted.samples) this.scheduler.add(sample)
    this.wakeLoop()
    return admitted
  }

  abort(requestId: string): void {
    const job = this.jobs.get(requestId)
    if (job) this.abortJob(job)
  }

  abortAll(): void {
    for (const job of [...this.jobs.values()]) this.abortJob(job)
  }

  private abortJob(job: Job): void {
    for (const sample of job.samples) void this.intake.finish(sample, 'abort', undefined, this.version)
  }

  /**
   * Training in the same process changes the weights in place, so there is nothing to move: this names them. What was
   * computed with the old weights is computed again for requests in flight, so that every later token is the new weights'.
   * A change of `model.version` without this call is noticed and counted from the last name.
   */
  updateWeights(version: PolicyVersion): Promise<void> {
    return this.control(() => {
      this.version = version
      this.modelVersion = this.model.version
      this.scheduler.forget()
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
      this.scheduler.forget(new BlockPool(0))
      this.device.release()
    })
  }

  wake(): Promise<void> {
    return this.control(() => {
      if (this.state !== 'asleep') return
      this.device.allocate()
      this.scheduler.forget(new BlockPool(this.limits.blocks))
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
        this.drawn = []
        await this.run(plan)
      } catch (error) {
        this.fail(plan, error)
      }
    }
  }

  /** Runs a plan: one step, or several where the device can and every row is the last token of a sample. */
  private async run(plan: Plan<Sample>): Promise<void> {
    const ahead = this.lookAhead(plan)
    if (!ahead) {
      await this.take(plan, await this.device.step(fillStep(plan, this.source)), 1)
      return
    }
    const rows = plan.work.length
    const pieces = this.device.decodeMany!(fillStep(plan, this.source), ahead)
    for (let next = await pieces.next(); !next.done; ) {
      const steps = next.value.ids.length / rows
      for (const work of plan.work) work.count = steps
      await this.take(plan, next.value, steps)
      for (const work of plan.work) work.start += steps
      next = await pieces.next(this.goesOn(plan) ? 'more' : 'enough')
    }
    this.scheduler.trim(plan)
  }

  private lookAhead(plan: Plan<Sample>): DecodeAhead | undefined {
    const { device, scheduler } = this
    if (!device.ahead || !device.decodeMany || !decodesOnly(plan)) return undefined
    const { steps, look, top } = device.ahead
    const samples = plan.work.map(({ of }) => of as Sample)
    // Blocks that others wait for are not taken far ahead.
    const most = scheduler.counts.waiting > 0 ? Math.min(steps, 4 * look) : steps
    const found = lookAhead(samples, { steps: most, top })
    return found && { ...found, look, steps: scheduler.reserveAhead(plan, found.steps, found.budgets) }
  }

  /** Whether a plan that looks ahead is still the best there is to do. */
  private goesOn(plan: Plan<Sample>): boolean {
    if (this.state !== 'awake' || this.pauses > 0 || this.controls.length > 0) return false
    if (this.model.version !== this.modelVersion || this.scheduler.letsIn) return false
    // Fewer rows are faster; but what is under way has to be waited for.
    return 2 * this.scheduler.counts.running > plan.work.length
  }

  private plan(): Plan<Sample> | undefined {
    if (this.model.version !== this.modelVersion) {
      this.version += this.model.version - this.modelVersion
      this.modelVersion = this.model.version
      this.scheduler.forget()
    }
    const plan = this.scheduler.next()
    const now = performance.now()
    for (const { of, count } of plan?.work ?? []) {
      if (of instanceof Sample) of.started ??= now
      if (of instanceof PromptPrefix || count > 1) this.totals.promptTokens += count
    }
    return plan
  }

  private drawsOf({ of, start, count, samples }: Plan<Sample>['work'][number]): Draw[] {
    const owner = of as Sample | PromptPrefix
    const draws: Draw[] = []
    const { job } = owner
    // A sample that lost its prefix to others scores the prompt itself.
    if (job.scores) {
      const end = Math.min(start + count, job.scoredTo)
      for (let position = start; position < end; position++) draws.push(job.promptDraw(position))
    }
    if (owner instanceof Sample && samples) draws.push(owner.draw())
    for (const draw of draws) this.drawn.push({ draw, of: owner })
    return draws
  }

  private async take(plan: Plan<Sample>, result: StepResult, steps: number): Promise<void> {
    // Weights that changed under a step make its tokens nobody's: it is run again.
    if (this.model.version !== this.modelVersion) return
    this.scheduler.commit(plan, steps)
    this.totals.steps += steps
    for (let step = 0; step < steps; step++)
      this.totals.generatedTokens += await this.intake.take(this.drawn, result, step * this.drawn.length, this.version)
  }

  /** The loop itself failed, which it should not: nobody is left waiting. */
  private collapse(error: unknown): void {
    this.state = 'closed'
    const message = error instanceof Error ? error.message : String(error)
    for (const job of [...this.jobs.values()])
      for (const sample of job.samples.slice()) this.intake.fail(sample, 'engine', message)
    for (const change of this.controls.splice(0)) change()
  }

  /** A step that could not be run ends its samples, not the engine. */
  private fail(plan: Plan<Sample>, error: unknown): void {
    const message = error instanceof Error ? error.message : String(error)
    for (const { of } of plan.work) {
      for (const sample of of instanceof Sample ? [of] : (of as PromptPrefix).job.samples.slice())
        this.intake.fail(sample, 'engine', message)
    }
  }
}
