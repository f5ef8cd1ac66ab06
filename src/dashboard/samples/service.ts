/** Questions about the samples of a run, and who answers them: a thread of its own, so that the server answers others meanwhile. */
import { Worker } from 'node:worker_threads'
import type { KeptMedia } from '../../media/index.js'
import type { RewardInput } from '../../reward/index.js'
import type { ChatMessage } from '../../text/index.js'
import type {
  DistributionsAnswer,
  Flag,
  GroupsAnswer,
  IndexProgress,
  SampleDetail,
  SamplesAnswer,
  TokensAnswer,
} from '../api.js'
import { RequestError } from '../errors.js'
import type { GroupsQuestion } from './groups.js'
import type { SampleQuestion } from './query.js'

/** What is asked, and the type of its answer. */
export interface Questions {
  progress: { asked: Record<string, never>; answer: IndexProgress }
  samples: { asked: SampleQuestion; answer: SamplesAnswer }
  sample: { asked: { id: string; flags: ReadonlyMap<string, Flag> }; answer: SampleDetail }
  tokens: { asked: { id: string }; answer: TokensAnswer }
  media: { asked: { id: string; n: number }; answer: Uint8Array }
  groups: { asked: GroupsQuestion; answer: GroupsAnswer }
  distributions: { asked: { columns: number; bins: number }; answer: DistributionsAnswer }
  selected: { asked: Selection; answer: SelectedSamples }
}

export interface Selection {
  readonly where: string
  readonly search: string
  readonly ids: readonly string[] | undefined
  readonly limit: number
  readonly flags: ReadonlyMap<string, Flag>
}

/** What a reward was told of a sample, and what a training can be told. */
export interface SelectedSample {
  readonly id: string
  readonly iteration: number
  readonly promptId: string
  readonly sample: number
  readonly reward: number | null
  readonly finish: 'stop' | 'length' | 'abort'
  readonly promptIds: Int32Array
  /** Images and videos of the prompt, whose pixels are in the run. */
  readonly media: readonly KeptMedia[]
  /** Of an episode: all that came after its prompt. */
  readonly responseIds: Int32Array
  /** With special tokens. */
  readonly promptText: string
  /** The prompt as messages, where a chat template made it. */
  readonly messages: readonly ChatMessage[] | undefined
  /** Without special tokens; the messages of an episode. */
  readonly answer: string | readonly ChatMessage[]
  readonly episode:
    | {
        /** What the policy said last. */
        readonly lastIds: Int32Array
        readonly turns: NonNullable<RewardInput['turns']>
        readonly reward: number | undefined
      }
    | undefined
}

export interface SelectedSamples {
  readonly matched: number
  readonly samples: readonly SelectedSample[]
}

export type QuestionName = keyof Questions

export interface Asked {
  readonly id: number
  readonly name: QuestionName
  readonly asked: unknown
}

export type Answered =
  | { readonly id: number; readonly answer: unknown }
  | { readonly id: number; readonly error: string; readonly status: number }

interface SampleService {
  /** Whether it answers nothing any more. */
  readonly hasFailed: boolean
  ask<N extends QuestionName>(name: N, asked: Questions[N]['asked']): Promise<Questions[N]['answer']>
  close(): Promise<void>
}

/** Of TypeScript, as tests run it, a thread knows nothing: there the index works in this one. */
const isCompiled = import.meta.url.endsWith('.js')

async function openSampleService(directory: string): Promise<SampleService> {
  return isCompiled ? new ThreadService(directory) : await serviceHere(directory)
}

async function serviceHere(directory: string): Promise<SampleService> {
  const { IndexAnswers } = await import('./answers.js')
  const answers = await IndexAnswers.open(directory)
  return {
    hasFailed: false,
    ask: async (name, asked) => (await answers.answer(name, asked)) as never,
    close: () => answers.close(),
  }
}

class ThreadService implements SampleService {
  readonly #worker: Worker
  readonly #waiting = new Map<number, { done: (answer: unknown) => void; fail: (error: Error) => void }>()
  #count = 0
  #failure: Error | undefined

  constructor(directory: string) {
    this.#worker = new Worker(new URL('./worker.js', import.meta.url), {
      workerData: directory,
      resourceLimits: { maxOldGenerationSizeMb: 128, maxYoungGenerationSizeMb: 16 },
    })
    this.#worker.on('message', (message: Answered) => {
      const waiting = this.#waiting.get(message.id)
      this.#waiting.delete(message.id)
      if ('error' in message) waiting?.fail(new RequestError(message.status, message.error))
      else waiting?.done(message.answer)
    })
    const end = (error: Error): void => {
      this.#failure ??= error
      for (const { fail } of this.#waiting.values()) fail(error)
      this.#waiting.clear()
    }
    this.#worker.on('error', end)
    this.#worker.on('exit', () => end(new Error('the index of the samples ended')))
  }

  ask<N extends QuestionName>(name: N, asked: Questions[N]['asked']): Promise<Questions[N]['answer']> {
    if (this.#failure) return Promise.reject(this.#failure)
    const id = this.#count++
    return new Promise((done, fail) => {
      this.#waiting.set(id, { done: done as (answer: unknown) => void, fail })
      this.#worker.postMessage({ id, name, asked } satisfies Asked)
    })
  }

  get hasFailed(): boolean {
    return this.#failure !== undefined
  }

  async close(): Promise<void> {
    if (this.#failure) return
    const ended = new Promise<void>(resolve => this.#worker.once('exit', () => resolve()))
    this.#worker.postMessage('close')
    await ended
  }
}

/** Indexes of the runs that were asked for last. */
export class SampleServices {
  readonly #open = new Map<string, Promise<SampleService>>()

  async of(directory: string): Promise<SampleService> {
    const known = this.#open.get(directory)
    // One that ended, such as for want of memory, is begun again by the next question.
    const hasFailed = known !== undefined && (await known.catch(() => ({ hasFailed: true }))).hasFailed
    if (hasFailed && this.#open.get(directory) === known) this.#open.delete(directory)
    const service = this.#open.get(directory) ?? openSampleService(directory)
    this.#open.delete(directory)
    this.#open.set(directory, service)
    service.catch(() => this.#open.delete(directory))
    for (const [oldest, opened] of this.#open) {
      if (this.#open.size <= mostIndexes) break
      this.#open.delete(oldest)
      void opened.then(one => one.close()).catch(() => {})
    }
    return service
  }

  /** Only if a client looks at its samples already. */
  known(directory: string): Promise<SampleService> | undefined {
    return this.#open.get(directory)
  }

  async close(): Promise<void> {
    const all = [...this.#open.values()]
    this.#open.clear()
    for (const service of all) await service.then(one => one.close()).catch(() => {})
  }
}

/** Each holds 50 MB for a million samples. */
const mostIndexes = 2
