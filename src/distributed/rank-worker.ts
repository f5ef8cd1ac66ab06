/** The other ranks' side of a job: they hold models and do what the controller asks. */
import { connect, type Socket } from 'node:net'
import { z } from 'zod'
import type { ProcessGroup, Store } from '../tensor/index.js'
import { RankError } from './errors.js'
import { type Handler, type Handlers, Peer } from './peer.js'
import { defaultLimitMs, identityOf, type RankOptions } from './rank.js'
import { RankModels } from './rank-models.js'
import { controlKey, joinGroup, type Membership, openStore } from './world.js'

/** More commands than those of models, such as engines of this rank. */
export type MoreHandlers = (membership: Membership, models: RankModels) => Handlers

export interface ServeOptions extends RankOptions {
  readonly handlers?: MoreHandlers
  /** Called with the connection to the controller, to watch over it. */
  readonly onConnected?: (controller: Peer) => void
}

const invitationSchema = z.strictObject({ host: z.string(), port: z.int().positive(), token: z.string() })

/**
 * Serves as one of the ranks 1, 2, ... Resolves when the controller has ended the job; rejects when the controller is gone, or
 * refuses this rank. The process should end then: nothing it holds is of use to anyone.
 */
export async function serveRank(options: ServeOptions): Promise<void> {
  const { rank, job, limitMs = defaultLimitMs } = options
  if (rank < 1) throw new RangeError('rank 0 controls the others, and does not serve')
  const store = await openStore(options)
  const invitation = invitationSchema.parse(JSON.parse(await store.text(controlKey(job), { limitMs })))
  const served = new Served(options, store)
  const peer = new Peer(await connected(invitation), 'the controller (rank 0)', op => served.handlerOf(op))
  options.onConnected?.(peer)
  await peer.ask('hello', { token: invitation.token, ...identityOf(options) })
  try {
    await Promise.race([served.ended, new Promise<never>((_, reject) => peer.onLost(reject))])
  } catch (error) {
    served.abort(error as Error)
    throw error
  } finally {
    served.close()
  }
}

class Served {
  readonly ended: Promise<void>
  private end!: () => void
  private group: ProcessGroup | undefined
  private models: RankModels | undefined
  private more: Handlers = {}

  constructor(
    private readonly options: ServeOptions,
    private readonly store: Store,
  ) {
    this.ended = new Promise(resolve => {
      this.end = resolve
    })
  }

  /** Until the ranks have joined their group there is nothing but `join`. */
  handlerOf(op: string): Handler | undefined {
    if (op === 'join') return () => this.join()
    if (op === 'end') return async () => void setImmediate(this.end)
    return this.more[op] ?? this.models?.handlers[op]
  }

  abort(error: Error): void {
    this.group?.abort(error)
  }

  close(): void {
    this.models?.dispose()
    this.group?.close()
    this.store.close()
  }

  private async join(): Promise<undefined> {
    const { options, store } = this
    this.group = await joinGroup(store, options)
    const membership: Membership = { identity: identityOf(options), size: options.size, store, group: this.group }
    this.models = new RankModels(membership)
    this.more = options.handlers?.(membership, this.models) ?? {}
  }
}

async function connected({ host, port }: { host: string; port: number }): Promise<Socket> {
  const socket = connect({ host, port })
  await new Promise<void>((resolve, reject) => {
    socket.once('connect', resolve)
    socket.once('error', cause =>
      reject(new RankError(`the controller at ${host} port ${port} cannot be reached (${cause.message})`, { cause })),
    )
  })
  socket.removeAllListeners('error')
  return socket
}
