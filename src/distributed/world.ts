/**
 * The controller's side of a job: a connection to every other rank, and the group of all. What a rank is asked for goes over its
 * connection; tensors move by collectives.
 */
import { randomBytes } from 'node:crypto'
import { createServer, type Server, type Socket } from 'node:net'
import { type GroupOptions, ProcessGroup, Store } from '../tensor/index.js'
import { isSymptom, RankError } from './errors.js'
import { type Handler, Peer } from './peer.js'
import { defaultLimitMs, helloSchema, identityOf, type RankIdentity, type RankOptions, rankName } from './rank.js'
import { type ModelCommand, RankModels } from './rank-models.js'
import { Watch } from './watch.js'

/** What ranks have in common once all have come. */
export interface Membership {
  readonly identity: RankIdentity
  readonly size: number
  readonly store: Store
  readonly group: ProcessGroup
}

/** Where the controller listens, and what a rank has to know to be let in; in the store. */
export const controlKey = (job: string): string => `${job}/control`

export function openStore({ store, limitMs = defaultLimitMs, joinLimitMs = limitMs }: RankOptions): Promise<Store> {
  return Store.open({ ...store, limitMs: joinLimitMs })
}

/** What a launcher does while the ranks come together. */
interface OpenHooks {
  /** The store is there, and nothing in it yet. */
  readonly onStore?: (store: Store) => Promise<void> | void
  /** Gives up waiting for the other ranks. */
  readonly signal?: AbortSignal
}

export function joinGroup(store: Store, options: RankOptions): Promise<ProcessGroup> {
  const { rank, size, address, device, job, limitMs = defaultLimitMs } = options
  const backend: GroupOptions['backend'] =
    options.backend === 'nccl' ? { kind: 'nccl', device } : { kind: 'gloo', host: address }
  return ProcessGroup.join({ store, name: `${job}/group`, rank, size, limitMs, backend })
}

export class World implements Membership {
  /** Why the ranks cannot go on together. */
  failure: Error | undefined
  /** The models of rank 0 itself. */
  readonly models: RankModels
  private nextModel = 0
  private readonly listeners = new Set<(error: Error) => void>()
  private invitations: Promise<unknown>[] = []
  private collectiveTurn: Promise<unknown> = Promise.resolve()
  private judgement: Promise<Error> | undefined
  /** Of collectives, by what several ranks say of the same one. */
  private readonly symptoms: Error[] = []

  private constructor(
    readonly identity: RankIdentity,
    /** Of all ranks, in their order. */
    readonly ranks: readonly RankIdentity[],
    readonly store: Store,
    readonly group: ProcessGroup,
    /** Of ranks 1, 2, ... */
    readonly peers: readonly Peer[],
    private readonly server: Server,
    private readonly watch: Watch,
  ) {
    this.models = new RankModels(this, (model, invitation) => {
      const command: ModelCommand = { model, do: 'join', invitation }
      for (const peer of this.peers) {
        const answer = peer.ask('model', command)
        // At once: the copy of rank 0 may be waiting in a collective that this rank will not join.
        answer.catch((error: Error) => this.suspect(error))
        this.invitations.push(answer)
      }
    })
    for (const [i, peer] of peers.entries())
      peer.onLost(error => {
        watch.lost(i + 1, 'closed')
        this.suspect(error)
      })
    watch.onLost(error => this.suspect(error))
  }

  /** Rank 0: waits until all ranks have come and are of the same build, and joins their group. */
  static async open(options: RankOptions, { onStore, signal }: OpenHooks = {}): Promise<World> {
    if (options.rank !== 0) throw new RangeError(`rank ${options.rank} does not control the others; rank 0 does`)
    const store = await openStore(options)
    const arrivals = new Arrivals(options)
    const stop = (): void => arrivals.refuse(signal!.reason)
    try {
      signal?.throwIfAborted()
      signal?.addEventListener('abort', stop, { once: true })
      await onStore?.(store)
      await arrivals.listen()
      await store.set(controlKey(options.job), arrivals.invitation)
      const arrived = await arrivals.all()
      const [group] = await Promise.all([
        joinGroup(store, options),
        ...arrived.map(({ peer }) => peer.ask('join', { ranks: options.size })),
      ])
      const identity = identityOf(options)
      const ranks = [identity, ...arrived.map(one => one.identity)]
      return new World(
        identity,
        ranks,
        store,
        group,
        arrived.map(({ peer }) => peer),
        arrivals.server,
        arrivals.watch,
      )
    } catch (error) {
      arrivals.close()
      store.close()
      throw error
    } finally {
      signal?.removeEventListener('abort', stop)
    }
  }

  get size(): number {
    return this.ranks.length
  }

  /** A name for something that every rank holds. */
  newName(what: string): string {
    return `${what}-${this.nextModel++}`
  }

  /** Asks every other rank the same. */
  askOthers(op: string, body: unknown): Promise<unknown[]> {
    return Promise.all(this.peers.map(async peer => (await peer.ask(op, body)).body))
  }

  /**
   * Work in which every rank makes collectives: one at a time, in the same order on all ranks, as collectives need it. `start` asks
   * the others before it begins with its own part.
   */
  inTurn<T>(start: () => Promise<T>): Promise<T> {
    const turn = this.collectiveTurn.then(() => {
      this.refuseBroken()
      return start()
    })
    this.collectiveTurn = turn.catch(() => {})
    return turn
  }

  /** Resolves when the other ranks have done what the copies of rank 0 invited them to; an error of theirs is the job's. */
  async invited(): Promise<void> {
    await Promise.all(this.invitations.splice(0))
  }

  refuseBroken(): void {
    if (this.failure) throw this.failure
  }

  /** Called once, when the ranks can no longer go on together. */
  onFailure(listener: (error: Error) => void): void {
    if (this.failure) listener(this.failure)
    else this.listeners.add(listener)
  }

  /** Work of all ranks: where it fails because one is gone or late, the error names that rank. */
  async explained<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work()
    } catch (error) {
      if (!this.failure && !isSymptom(error)) throw error
      throw await this.suspect(error as Error)
    }
  }

  /**
   * Work of several ranks, to its end. Where one part fails because of a rank that is gone or late, the job is given up: other parts may
   * wait for that rank without a limit.
   */
  settle<const T extends readonly Promise<unknown>[]>(
    parts: T,
  ): Promise<{ [K in keyof T]: PromiseSettledResult<Awaited<T[K]>> }> {
    for (const part of parts)
      part.catch((error: Error) => {
        if (isSymptom(error)) void this.suspect(error)
      })
    return Promise.allSettled(parts) as Promise<{ [K in keyof T]: PromiseSettledResult<Awaited<T[K]>> }>
  }

  /** A process of a rank has ended, as whatever started it saw: how, and what it printed last. */
  ended(rank: number, how: string, words = ''): void {
    this.watch.lost(rank, 'ended', { how, words })
    this.suspect(new RankError(`rank ${rank} has ended`))
  }

  /**
   * The job fails with this error, or with the one that names the rank behind it, which may take a moment to be seen. Answers with
   * that.
   */
  suspect(error: Error): Promise<Error> {
    if (this.failure) return Promise.resolve(this.failure)
    if (!isSymptom(error) && !this.watch.knows) {
      this.fail(error)
      return Promise.resolve(error)
    }
    this.symptoms.push(error)
    this.judgement ??= this.watch.verdict(this.symptoms).then(verdict => {
      this.fail(verdict)
      return this.failure!
    })
    return this.judgement
  }

  /** Gives up: whatever waits for a rank ends with this error, and ranks that still listen end too. */
  fail(error: Error): void {
    if (this.failure) return
    this.failure = error
    this.watch.close(error.message)
    this.group.abort(error)
    for (const peer of this.peers) peer.fail(error)
    this.server.close()
    for (const listener of this.listeners) listener(error)
    this.listeners.clear()
  }

  /** The end of a job that went well: every rank is told to stop. */
  async close(): Promise<void> {
    this.models.dispose()
    if (!this.failure) {
      const asked = this.peers.map(peer => peer.ask('end', null).catch(() => {}))
      await Promise.all(asked)
      for (const peer of this.peers) await peer.end()
      this.failure = new RankError('the ranks of this job have ended')
    }
    this.watch.close()
    this.server.close()
    this.group.close()
    this.store.close()
  }
}

/** Ranks on their way in. */
class Arrivals {
  readonly server: Server
  readonly watch: Watch
  private readonly token = randomBytes(16).toString('hex')
  private readonly arrived = new Map<number, { identity: RankIdentity; peer: Peer }>()
  private readonly sockets = new Set<Socket>()
  private changed: (() => void) | undefined
  private refusal: Error | undefined

  constructor(private readonly options: RankOptions) {
    this.server = createServer(socket => this.greet(socket))
    const { address, limitMs = defaultLimitMs } = options
    this.watch = new Watch({
      ...{ host: address, token: this.token, limitMs, size: options.size },
      nameOf: rank => rankName(rank === 0 ? identityOf(options) : this.arrived.get(rank)!.identity),
    })
    this.watch.onLost(error => {
      this.refusal ??= error
      this.changed?.()
    })
  }

  /** What ranks read in the store. */
  get invitation(): string {
    const address = this.server.address()
    if (address === null || typeof address === 'string') throw new RankError('the controller does not listen')
    return JSON.stringify({ host: this.options.address, port: address.port, pulse: this.watch.port, token: this.token })
  }

  async listen(): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      this.server.once('error', reject)
      this.server.listen({ host: this.options.address, port: 0 }, resolve)
    })
  }

  async all(): Promise<{ identity: RankIdentity; peer: Peer }[]> {
    const { size, limitMs = defaultLimitMs, joinLimitMs = limitMs } = this.options
    const end = performance.now() + joinLimitMs
    while (this.arrived.size < size - 1) {
      if (this.refusal) throw this.refusal
      const left = end - performance.now()
      if (left <= 0) throw this.late()
      let timer: NodeJS.Timeout | undefined
      await new Promise<void>(resolve => {
        this.changed = resolve
        timer = setTimeout(resolve, left)
      })
      clearTimeout(timer)
    }
    if (this.refusal) throw this.refusal
    return [...this.arrived].sort(([a], [b]) => a - b).map(([, one]) => one)
  }

  refuse(error: Error): void {
    this.refusal ??= error
    this.changed?.()
  }

  close(): void {
    this.watch.close('not all ranks joined the job')
    this.server.close()
    for (const socket of this.sockets) socket.destroy()
  }

  private greet(socket: Socket): void {
    this.sockets.add(socket)
    const hello: Handler = async ({ body }) => {
      const { token, ...identity } = helloSchema.parse(body)
      // Another job of this machine, which is not a fault of this one.
      if (token !== this.token) throw new RankError('this is another job')
      const problem = this.problemOf(identity)
      if (problem) this.refusal ??= new RankError(problem)
      else this.arrived.set(identity.rank, { identity, peer })
      this.changed?.()
      if (problem) throw new RankError(problem)
      peer.name = rankName(identity)
      return undefined
    }
    const peer = new Peer(socket, `a process at ${socket.remoteAddress}`, op => (op === 'hello' ? hello : undefined))
    peer.onLost(error => {
      if ([...this.arrived.values()].some(one => one.peer === peer)) this.refusal ??= error
      this.changed?.()
    })
  }

  private problemOf(identity: RankIdentity): string | undefined {
    const { size } = this.options
    const name = rankName(identity)
    if (identity.rank < 1 || identity.rank >= size) return `${name} came to a job of ${size} ranks`
    const other = this.arrived.get(identity.rank)
    if (other) return `two processes say that they are the same rank: ${name} and ${rankName(other.identity)}`
    const { build } = identityOf(this.options)
    const differing = (['whetstone', 'libtorch', 'node', 'arch'] as const).filter(
      part => build[part] !== identity.build[part],
    )
    if (differing.length === 0) return undefined
    const shown = differing.map(part => `${part} ${identity.build[part]}, rank 0 has ${build[part]}`).join('; ')
    return `${name} is of another build: ${shown}. Install the same versions on every machine.`
  }

  private late(): RankError {
    const { size, limitMs = defaultLimitMs, joinLimitMs = limitMs } = this.options
    const missing = Array.from({ length: size }, (_, rank) => rank).filter(rank => rank > 0 && !this.arrived.has(rank))
    const which = missing.length === 1 ? `rank ${missing[0]} has` : `ranks ${missing.join(', ')} have`
    return new RankError(`${which} not joined within ${joinLimitMs / 1000} s`)
  }
}
