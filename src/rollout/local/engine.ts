/**
 * Generation in this process, with the weights of a model that may be training: continuous batching over a KV cache in
 * blocks. One loop plans a step, runs it on the device, takes the tokens, and ends what is finished; a slot that becomes
 * free is filled in the next step.
 */
import type { TokenModel } from '../../model/index.js'
import type { Tokenizer } from '../../text/index.js'
import type { GenerationRequest, Generator, Outcome, PolicyVersion, Rejection, TopLogprobs } from '../generator.js'
import { OutcomeQueue } from '../outcome-queue.js'
import { resolveSampling } from '../sampling.js'
import { TextStream } from '../text-stream.js'
import { BlockPool, blocksFor } from './blocks.js'
import { CpuStep } from './cpu-step.js'
import { type Draw, fillStep, type StepSource } from './fill-step.js'
import { Job, type Listener, PromptPrefix, Sample } from './sample.js'
import { type Plan, Scheduler } from './scheduler.js'
import type { StepDevice, StepResult } from './step.js'

export interface LocalEngineOptions {
  /** For stop strings and text. Its stop ids end responses, unless `eosIds` says otherwise. */
  tokenizer?: Tokenizer
  /** Tokens that end a response; the first is the one that needs no mention as a stop reason. */
  eosIds?: readonly number[]
  /** Memory for keys and values. Default 1 GiB, less where the sequences below cannot fill it. */
  cacheBytes?: number
  /** Sequences that generate at once. Default 128. */
  maxSequences?: number
  /** Tokens of a sequence. Default: the model's context. */
  maxLength?: number
  /** Tokens of a step: prompts are computed in pieces of at most this. Default 1024. */
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

/** Logits of prompt rows in one step take at most this. */
const scoredBytes = 64 << 20

export class LocalEngine implements Generator {
  private readonly device: StepDevice
  private readonly scheduler: Scheduler<Sample>
  private readonly jobs = new Map<string, Job>()
  private readonly eosIds: readonly number[]
  readonly maxLength: number
  private readonly blocks: number
  private readonly controls: (() => void)[] = []
  private awaken: (() => void) | undefined
  private readonly ended: Promise<void>
  private state: 'awake' | 'asleep' | 'closed' = 'awake'
  private pauses = 0
  private version: PolicyVersion
  private modelVersion: number
  private totals = { promptTokens: 0, generatedTokens: 0, steps: 0 }
  private drawn: { draw: Draw; of: Sample | PromptPrefix }[] = []
  private readonly source: StepSource<Sample> = {
    token: (of, position) =>
      of instanceof Sample ? of.token(position) : (of as PromptPrefix).job.promptIds[position]!,
    draws: work => this.drawsOf(work),
  }

  constructor(
    private readonly model: TokenModel<'language'>,
    private readonly options: LocalEngineOptions = {},
  ) {
    if (model.device !== 'cpu') throw new RangeError(`the local engine has no steps for ${model.device} yet`)
    const { maxSequences = 128, cacheBytes = 1 << 30, tokenBudget = 1024 } = options
    const { context, vocabSize } = model.config.decoder
    this.maxLength = Math.min(context, options.maxLength ?? context)
    this.device = new CpuStep(model.parts, {
      dtype: model.dtype,
      cacheBytes,
      maxSequences,
      maxLength: this.maxLength,
    })
    this.blocks = this.device.blocks
    this.eosIds = options.eosIds ?? options.tokenizer?.stopIds ?? []
    this.scheduler = new Scheduler(new BlockPool(this.blocks), {
      maxSequences,
      tokenBudget,
      scoredRows: Math.max(16, Math.floor(scoredBytes / (4 * vocabSize))),
    })
    this.version = model.version
    this.modelVersion = model.version
    this.ended = this.loop()
  }

  get counts(): EngineCounts {
    return { ...this.scheduler.counts, ...this.totals }
  }

  get policyVersion(): PolicyVersion {
    return this.version
  }

  generate(
    requests: Iterable<GenerationRequest>,
    options: { signal?: AbortSignal } = {},
  ): AsyncIterableIterator<Outcome, undefined> {
    options.signal?.throwIfAborted()
    const ids: string[] = []
    const abort = (): void => {
      for (const id of ids) this.abort(id)
    }
    const queue = new OutcomeQueue<Outcome>(() => {
      options.signal?.removeEventListener('abort', abort)
      abort()
    })
    options.signal?.addEventListener('abort', abort)
    try {
      for (const request of requests) {
        this.submit(request, { onOutcome: outcome => queue.push(outcome) }, count => queue.expect(count))
        ids.push(request.id)
      }
    } catch (error) {
      queue.return()
      throw error
    }
    queue.seal()
    return queue
  }

  /** Takes a request; its listener hears of every token, where it wants to, and of each sample's outcome. */
  submit(request: GenerationRequest, listener: Listener, expect?: (outcomes: number) => void): void {
    if (this.state === 'closed') throw new Error('the engine is closed')
    const { n = 1, firstSample = 0 } = request
    if (this.jobs.has(request.id)) throw new RangeError(`a request ${JSON.stringify(request.id)} is in flight already`)
    if (!Number.isSafeInteger(n) || n < 1) throw new RangeError(`n should be a positive integer, got ${n}`)
    const sampling = resolveSampling(request.sampling, { vocabSize: this.model.config.decoder.vocabSize, n })
    if ((sampling.stop.length > 0 || sampling.text) && !this.options.tokenizer)
      throw new RangeError('stop strings and text need an engine with a tokenizer')
    expect?.(n)
    const cut = sampling.truncatePromptTokens
    let { promptIds } = request
    if (cut && promptIds.length > cut.limit)
      promptIds = cut.side === 'right' ? promptIds.slice(0, cut.limit) : promptIds.slice(-cut.limit)
    const maxNew = (i: number): number => {
      const { maxNewTokens: max } = sampling
      return Math.min(typeof max === 'number' ? max : max[i]!, this.maxLength - promptIds.length)
    }
    const longest = Math.max(...Array.from({ length: n }, (_, i) => maxNew(i)))
    const refused = this.refuse(promptIds, longest)
    if (refused) {
      for (let i = 0; i < n; i++) {
        const { id: requestId, promptId = requestId } = request
        const outcome = { ...refused, requestId, promptId, sample: firstSample + i, seed: sampling.seed }
        queueMicrotask(() => listener.onOutcome(outcome))
      }
      return
    }
    const job = new Job(request, promptIds, sampling, this.eosIds, listener)
    this.jobs.set(request.id, job)
    for (let i = 0; i < n; i++) {
      const sample = new Sample(job, firstSample + i, maxNew(i))
      if (sampling.stop.length > 0 || (sampling.text && listener.onToken)) sample.text = this.textOf(sample)
      job.samples.push(sample)
      this.scheduler.add(sample)
    }
    this.wakeLoop()
  }

  private textOf({ job }: Sample): TextStream {
    const { text, stop } = job.sampling
    return new TextStream(this.options.tokenizer!, job.promptIds, { skipSpecialTokens: text !== 'with-special', stop })
  }

  private refuse(promptIds: Int32Array, maxNew: number): Pick<Rejection, 'kind' | 'reason' | 'message'> | undefined {
    const kind = 'rejected'
    const { vocabSize } = this.model.config.decoder
    if (promptIds.length === 0) return { kind, reason: 'empty-prompt', message: 'the prompt has no tokens' }
    if (promptIds.length >= this.maxLength) {
      const message = `the prompt has ${promptIds.length} tokens; with one to generate, ${this.maxLength} is the limit`
      return { kind, reason: 'prompt-too-long', message }
    }
    const bad = promptIds.find(id => !(id >= 0 && id < vocabSize))
    if (bad !== undefined)
      return { kind, reason: 'token-out-of-range', message: `token id ${bad}: the vocabulary ends at ${vocabSize - 1}` }
    const needed = blocksFor(promptIds.length + maxNew - 1)
    if (needed > this.blocks) {
      const message = `prompt and response may need ${needed} blocks of 16 tokens, the KV cache has ${this.blocks}`
      return { kind, reason: 'too-large-for-memory', message }
    }
    return undefined
  }

  abort(requestId: string): void {
    for (const sample of this.jobs.get(requestId)?.samples.slice() ?? []) void this.finish(sample, 'abort', undefined)
  }

  abortAll(): void {
    for (const id of [...this.jobs.keys()]) this.abort(id)
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
      this.scheduler.forget(new BlockPool(this.blocks))
      this.state = 'awake'
    })
  }

  async close(): Promise<void> {
    if (this.state === 'closed') return this.ended
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
        const result = await this.device.step(fillStep(plan, this.source))
        // Weights that changed under a step make its tokens nobody's: it is run again.
        if (this.model.version === this.modelVersion) await this.take(plan, result)
      } catch (error) {
        this.fail(plan, error)
      }
    }
  }

  private plan(): Plan<Sample> | undefined {
    if (this.model.version !== this.modelVersion) {
      this.version += this.model.version - this.modelVersion
      this.modelVersion = this.model.version
      this.scheduler.forget()
    }
    const plan = this.scheduler.next()
    for (const { of, count } of plan?.work ?? []) {
      if (of instanceof Sample) of.started ??= performance.now()
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
      const end = Math.min(start + count, job.promptIds.length - 1)
      for (let position = start; position < end; position++) draws.push(job.promptDraw(position))
    }
    if (owner instanceof Sample && samples) draws.push(owner.draw())
    for (const draw of draws) this.drawn.push({ draw, of: owner })
    return draws
  }

  /** Gives the sampled tokens to their samples, and ends those that are done. */
  private async take(plan: Plan<Sample>, result: StepResult): Promise<void> {
    this.scheduler.commit(plan)
    this.totals.steps++
    const columns = this.drawn.length === 0 ? 0 : result.topIds.length / this.drawn.length
    const texts: Promise<void>[] = []
    for (const [i, { draw, of }] of this.drawn.entries()) {
      const top = draw.top < 0 ? undefined : topOf(result, i, columns, draw.top)
      if (draw.forced >= 0) {
        of.job.scores!.logprobs[draw.position] = result.raw[i]!
        of.job.scores!.top[draw.position] = top!
        continue
      }
      const sample = of as Sample
      if (sample.state === 'finished') continue
      const id = result.ids[i]!
      if (id < 0) {
        this.failSample(sample, 'non-finite', 'the logits are not finite, or leave no token that may be sampled')
        continue
      }
      sample.append(id, result.raw[i]!, result.processed[i]!, top, this.version)
      this.totals.generatedTokens++
      const waiting = this.advance(sample, id, { raw: result.raw[i]!, processed: result.processed[i]!, top })
      if (waiting) texts.push(waiting)
    }
    if (texts.length > 0) await Promise.all(texts)
  }

  /** What a new token means for its sample; a promise where text has to be decoded for it. */
  private advance(
    sample: Sample,
    id: number,
    token: { raw: number; processed: number; top: TopLogprobs | undefined },
  ): Promise<void> | undefined {
    const { job, text, response } = sample
    const stopsHere = job.isStop(id)
    const full = response.length >= sample.maxNewTokens
    const settle = (): void => {
      if (sample.state === 'finished') return
      if (job.listener.onToken) {
        const shown = text && !stopsHere ? text.take({ last: full }) : (text?.take({ last: true }) ?? '')
        job.listener.onToken({ sample: sample.index, id, ...token, text: shown })
      }
      if (stopsHere) void this.finish(sample, 'stop', job.stopReason(id))
      else if (text?.stopped !== undefined) void this.finish(sample, 'stop', text.stopped)
      else if (full) void this.finish(sample, 'length', undefined)
    }
    if (!text) {
      settle()
      return undefined
    }
    const early = response.length < job.sampling.minNewTokens
    const pushed = text.push(stopsHere ? [] : [id], {
      last: full || stopsHere,
      ...(early ? { stops: 'ignored' as const } : {}),
    })
    return pushed.then(settle)
  }

  private async finish(
    sample: Sample,
    reason: 'stop' | 'length' | 'abort',
    stopReason: string | number | undefined,
  ): Promise<void> {
    if (sample.state === 'finished') return
    this.scheduler.finish(sample)
    this.leave(sample)
    const { job } = sample
    let { text } = sample
    const completion = sample.completion(reason, stopReason, undefined, this.version)
    if (!text && job.sampling.text) {
      // Nobody read along: all of it now. The token that ended it has no text.
      text = this.textOf(sample)
      const shown = reason === 'stop' ? completion.responseIds.subarray(0, -1) : completion.responseIds
      try {
        await text.push(shown, { last: true })
      } catch (error) {
        job.listener.onOutcome({ kind: 'failed', ...sample.identity, reason: 'engine', message: String(error) })
        return
      }
    }
    job.listener.onOutcome({ ...completion, text: text?.text })
  }

  private leave({ job }: Sample): void {
    if (job.samples.every(({ state }) => state === 'finished')) this.jobs.delete(job.request.id)
  }

  private failSample(sample: Sample, reason: 'non-finite' | 'engine', message: string): void {
    if (sample.state === 'finished') return
    this.scheduler.finish(sample)
    this.leave(sample)
    sample.job.listener.onOutcome({ kind: 'failed', ...sample.identity, reason, message })
  }

  /** A step that could not be run ends its samples, not the engine. */
  private fail(plan: Plan<Sample>, error: unknown): void {
    const message = error instanceof Error ? error.message : String(error)
    for (const { of } of plan.work) {
      for (const sample of of instanceof Sample ? [of] : (of as PromptPrefix).job.samples.slice())
        this.failSample(sample, 'engine', message)
    }
  }
}

function topOf(result: StepResult, row: number, columns: number, top: number): TopLogprobs {
  const at = row * columns
  return {
    rank: result.topIds[at]!,
    ids: result.topIds.slice(at + 1, at + 1 + top),
    logprobs: result.topLogprobs.slice(at + 1, at + 1 + top),
  }
}
