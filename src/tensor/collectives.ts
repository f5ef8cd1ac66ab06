/**
 * Several processes that compute together, over libtorch's own c10d: a key-value store that they find each other through, and groups
 * whose collectives change tensors of all of them. Every member of a group makes the same calls in the same order.
 */
import { decode } from './call.js'
import { type Device, parseDevice } from './dtype.js'
import { CollectiveError, fromNative } from './errors.js'
import { type CollectivesNative, native } from './native.js'
import type { Tensor } from './tensor.js'

/** Whether this bridge was built with collectives: libtorch has c10d. */
export const hasCollectives = (): boolean => native.openStore !== undefined

function bridge(): CollectivesNative {
  if (!hasCollectives())
    throw new CollectiveError('this libtorch was built without c10d, so one process trains alone', {
      remedy: 'Use a libtorch of PyTorch 2.4 or newer for Linux, and run `npx whetstone setup`.',
    })
  return native as CollectivesNative
}

async function answered(call: Promise<Float64Array>): Promise<{ ref: number; values: unknown[] }> {
  try {
    const answer = await call
    return { ref: answer[0]!, values: decode(answer, 2, answer[1]!) }
  } catch (thrown) {
    throw fromNative(thrown)
  }
}

interface StoreOptions {
  /** Of the machine that serves it. To serve: the address that it listens on, and no other. */
  readonly host: string
  /** To serve, 0 for any free port. */
  readonly port: number
  /** `here`: this process serves the store as long as it is open. */
  readonly served: 'here' | 'elsewhere'
  /** For the connection, and what `get` waits by default. */
  readonly limitMs: number
}

/**
 * A client of c10d's TCPStore. Calls run one after another: `get` that waits keeps others waiting, so what must not wait opens a
 * store of its own.
 */
export class Store {
  private open = true

  private constructor(
    /** @internal */
    readonly ref: number,
    readonly host: string,
    readonly port: number,
    private readonly limitMs: number,
  ) {}

  static async open({ host, port, served, limitMs }: StoreOptions): Promise<Store> {
    const { ref, values } = await answered(bridge().openStore(host, port, served === 'here', limitMs))
    return new Store(ref, host, Number(values[0]), limitMs)
  }

  async set(key: string, value: string | Uint8Array): Promise<void> {
    const bytes = typeof value === 'string' ? new TextEncoder().encode(value) : value
    await answered(bridge().storeSet(this.ref, key, bytes))
  }

  /** Waits until the key is there. */
  async get(key: string, { limitMs = this.limitMs }: { limitMs?: number } = {}): Promise<Uint8Array> {
    const { values } = await answered(bridge().storeGet(this.ref, key, limitMs))
    const tensor = values[0] as Tensor
    return (await tensor.data<'uint8'>().finally(() => tensor.dispose())) as Uint8Array
  }

  async text(key: string, options?: { limitMs?: number }): Promise<string> {
    return new TextDecoder().decode(await this.get(key, options))
  }

  async has(key: string): Promise<boolean> {
    return Number((await answered(bridge().storeCheck(this.ref, key))).values[0]) !== 0
  }

  /** Adds to a counter, which starts at 0, and answers with its new value. */
  async add(key: string, by: number): Promise<number> {
    return Number((await answered(bridge().storeAdd(this.ref, key, by))).values[0])
  }

  async delete(key: string): Promise<void> {
    await answered(bridge().storeDelete(this.ref, key))
  }

  close(): void {
    if (this.open) bridge().releaseLink(this.ref)
    this.open = false
  }
}

/** In the order of `Collective` in native/collectives.cc. */
const kinds = ['sum', 'max', 'reduceScatter', 'allGather', 'broadcast', 'barrier'] as const

export interface GroupOptions {
  readonly store: Store
  /** Names the group in the store; the same for all members, and never used twice. */
  readonly name: string
  readonly rank: number
  readonly size: number
  /** After this time a collective that a member did not join is an error. */
  readonly limitMs: number
  /** `gloo` with the address of this machine that the others reach; `nccl` with the GPU of this rank. */
  readonly backend:
    | { readonly kind: 'gloo'; readonly host: string }
    | { readonly kind: 'nccl'; readonly device: Device }
}

/** What a group has done so far, to see what communication and waiting cost. */
interface GroupUse {
  readonly seconds: number
  readonly bytes: number
  readonly calls: number
}

/**
 * Processes that compute together. A collective runs on a thread of its own, one after another in the order of the calls; it changes
 * its tensor in place, and nothing else may use the tensor until then. After an error the members are no longer in step, so that the
 * group refuses everything.
 *
 * @example
 * async function meanOverRanks(group: ProcessGroup, numbers: Tensor): Promise<void> {
 *   await group.allReduce(numbers)
 *   numbers.div_(group.size)
 * }
 */
export class ProcessGroup {
  readonly rank: number
  readonly size: number
  readonly backend: 'gloo' | 'nccl'
  private failure: Error | undefined
  private readonly waiting = new Set<(error: Error) => void>()
  private spent = { seconds: 0, bytes: 0, calls: 0 }
  private open = true

  private constructor(
    private readonly ref: number,
    { rank, size, backend }: GroupOptions,
  ) {
    this.rank = rank
    this.size = size
    this.backend = backend.kind
  }

  static async join(options: GroupOptions): Promise<ProcessGroup> {
    const { store, name, rank, size, limitMs, backend } = options
    const joining =
      backend.kind === 'gloo'
        ? bridge().joinGloo(store.ref, name, rank, size, limitMs, backend.host)
        : bridge().joinNccl(store.ref, name, rank, size, limitMs, Math.max(0, parseDevice(backend.device).index))
    const { ref } = await answered(joining)
    return new ProcessGroup(ref, options)
  }

  get use(): GroupUse {
    return this.spent
  }

  /** All members get the sum, or the largest, of each element. The same bits on every rank. */
  allReduce(tensor: Tensor, { of = 'sum' }: { of?: 'sum' | 'max' } = {}): Promise<void> {
    return this.run(of, tensor)
  }

  /** Of the sum over all members, rank r gets the r-th part of `whole` in `part`. */
  reduceScatter({ whole, part }: { whole: Tensor; part: Tensor }): Promise<void> {
    return this.run('reduceScatter', part, whole)
  }

  /** Everyone gets the parts of all ranks, one after another, in `whole`. */
  allGather({ whole, part }: { whole: Tensor; part: Tensor }): Promise<void> {
    return this.run('allGather', whole, part)
  }

  /** Everyone gets the tensor of one rank. */
  broadcast(tensor: Tensor, { from }: { from: number }): Promise<void> {
    return this.run('broadcast', tensor, undefined, from)
  }

  /** Resolves when every member has come here. */
  barrier(): Promise<void> {
    return this.run('barrier')
  }

  /** Ends what waits for others, and refuses everything after it. The native thread ends by itself, at the latest at its time limit. */
  abort(reason: Error): void {
    this.failure ??= reason
    for (const reject of this.waiting) reject(this.failure)
    this.waiting.clear()
    if (this.open) bridge().abortLink(this.ref)
  }

  close(): void {
    this.abort(new CollectiveError('this process group was closed'))
    if (this.open) bridge().releaseLink(this.ref)
    this.open = false
  }

  private async run(kind: (typeof kinds)[number], target?: Tensor, source?: Tensor, root = 0): Promise<void> {
    if (this.failure) throw this.failure
    const started = performance.now()
    const call = answered(
      bridge().collective(this.ref, kinds.indexOf(kind), target?.ref ?? 0, source?.ref ?? 0, root),
    ).then(() => {})
    // Where it was aborted before, the error of the native call has no reader.
    call.catch(() => {})
    let giveUp: ((error: Error) => void) | undefined
    const aborted = new Promise<never>((_, reject) => {
      giveUp = reject
      this.waiting.add(reject)
    })
    try {
      await Promise.race([call, aborted])
    } catch (cause) {
      this.failure ??= lostPeer(kind, this.rank, cause)
      throw this.failure
    } finally {
      this.waiting.delete(giveUp!)
      this.spent = {
        seconds: this.spent.seconds + (performance.now() - started) / 1000,
        bytes: this.spent.bytes + Math.max(target?.nbytes ?? 0, source?.nbytes ?? 0),
        calls: this.spent.calls + 1,
      }
    }
  }
}

function lostPeer(kind: string, rank: number, cause: unknown): Error {
  if (cause instanceof CollectiveError) return cause
  const why = cause instanceof Error ? cause.message : String(cause)
  return new CollectiveError(`rank ${rank}: a collective (${kind}) failed: ${why.split('\n')[0]}`, { cause })
}
