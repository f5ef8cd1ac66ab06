/** The other ranks' side of a job: they hold models and do what the controller asks. */
import { connect, type Socket } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'
import { z } from 'zod'
import { type ProcessGroup, Pulse, type Store } from '../tensor/index.js'
import { LostConnectionError, RankError } from './errors.js'
import { type Handler, type Handlers, Peer } from './peer.js'
import { defaultLimitMs, identityOf, type RankOptions } from './rank.js'
import { RankEngines } from './rank-engines.js'
import { measureHandlers } from './rank-measures.js'
import { RankModels } from './rank-models.js'
import { Stalls } from './stalls.js'
import { controlKey, joinGroup, type Membership, openStore } from './world.js'

/** More commands than those of models and engines. */
type MoreHandlers = (membership: Membership, models: RankModels) => Handlers

export interface ServeOptions extends RankOptions {
  readonly handlers?: MoreHandlers
  /** Called with the connection to the controller, to watch over it. */
  readonly onConnected?: (controller: Peer) => void
}

/** How long the reason of a lost connection may be on its way, in milliseconds. */
const hearingMs = 300

const invitationSchema = z.strictObject({
  host: z.string(),
  port: z.int().positive(),
  pulse: z.int().positive(),
  token: z.string(),
})

/**
 * Serves as one of the ranks 1, 2, ... Resolves when the controller has ended the job; rejects when the controller is gone, or
 * refuses this rank. The process should end then: nothing it holds is of use to anyone.
 */
export async function serveRank(options: ServeOptions): Promise<void> {
  const { rank, job, limitMs = defaultLimitMs, joinLimitMs = limitMs } = options
  if (rank < 1) throw new RangeError('rank 0 controls the others, and does not serve')
  const store = await openStore(options)
  const invitation = invitationSchema.parse(JSON.parse(await store.text(controlKey(job), { limitMs: joinLimitMs })))
  const served = new Served(options, store)
  const stalls = new Stalls(limitMs)
  const peer = new Peer(await connected(invitation), 'the controller (rank 0)', op =>
    stalls.watching(op, served.handlerOf(op)),
  )
  options.onConnected?.(peer)
  let heard = (_: Error): void => {}
  const said = new Promise<Error>(resolve => {
    heard = resolve
  })
  const onLost = (error: Error): void => {
    heard(error)
    peer.fail(error)
  }
  const pulse = controllerPulse(invitation, { rank, limitMs, onLost })
  try {
    await peer.ask('hello', { token: invitation.token, ...identityOf(options) })
    await Promise.race([served.ended, stalls.found, new Promise<never>((_, reject) => peer.onLost(reject))])
    pulse.close()
  } catch (error) {
    served.abort(error as Error)
    // A controller that gives up closes both connections, and says why on the one of the pulse.
    const isSilent = error instanceof LostConnectionError
    const why = isSilent ? await Promise.race([said, wait(hearingMs, error)]) : (error as Error)
    // The pulse stays: it ends this process where that cannot end by itself.
    pulse.say(`${why.message}\n`)
    throw why
  } finally {
    stalls.close()
    served.close()
  }
}

/** Signs of life to and from the controller; what this process says on its standard error goes there too. */
function controllerPulse(
  { host, pulse: port, token }: z.infer<typeof invitationSchema>,
  { rank, limitMs, onLost }: { rank: number; limitMs: number; onLost: (error: Error) => void },
): Pulse {
  const pulse = Pulse.join({
    ...{ host, port, token, rank, limitMs },
    onEvent: (event, _, text) => {
      if (event === 'failed') onLost(new RankError(`the controller (rank 0) has stopped the job: ${text}`))
      else if (event === 'silent')
        onLost(new RankError(`the controller (rank 0) has sent nothing for ${limitMs / 1000} s`))
      else if (event === 'closed') onLost(new RankError('the controller (rank 0) is gone'))
    },
  })
  const write = process.stderr.write.bind(process.stderr)
  process.stderr.write = ((text: string | Uint8Array, ...rest: []) => {
    pulse.say(typeof text === 'string' ? text : Buffer.from(text).toString('utf8'))
    return write(text, ...rest)
  }) as typeof process.stderr.write
  process.on('uncaughtExceptionMonitor', error => pulse.say(`${error.stack ?? error.message}\n`))
  return pulse
}

class Served {
  readonly ended: Promise<void>
  private end!: () => void
  private group: ProcessGroup | undefined
  private models: RankModels | undefined
  private engines: RankEngines | undefined
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
    // Its steps may be under way, with the model's weights.
    this.engines?.close().catch(() => {})
    this.models?.dispose()
    this.group?.close()
    this.store.close()
  }

  private async join(): Promise<undefined> {
    const { options, store } = this
    this.group = await joinGroup(store, options)
    const membership: Membership = { identity: identityOf(options), size: options.size, store, group: this.group }
    this.models = new RankModels(membership)
    this.engines = new RankEngines(this.models)
    this.more = {
      ...measureHandlers(membership),
      ...this.engines.handlers,
      ...options.handlers?.(membership, this.models),
    }
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
