/**
 * Environments of an OpenEnv server, over its WebSocket route `/ws`. (Its HTTP routes make a new environment for every request.)
 *
 * @example
 * const environment = await openEnvironment({ url: 'http://127.0.0.1:8000', rewards: 'delta', action: 'message', show: 'prompt' })
 */
import { createHash } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { z } from 'zod'
import { checkedOptions } from '../../errors/index.js'
import type { ChatMessage } from '../../text/index.js'
import type { AssistantTurn, Environment, OpenOptions, Session, StepResult, Task } from '../environment.js'
import { EnvironmentError } from '../errors.js'
import { messageOf } from '../fault.js'
import { inputCheck } from '../input-check.js'
import { type Effect, effectHelp, effects, type Tool, type ToolResult } from '../tool.js'
import { type Observation, OpenEnvConnection, OpenEnvError, observationSchema } from './connection.js'

export const openEnvShape = {
  url: z.url({ protocol: /^(https?|wss?)$/ }).describe('address of the server, as http://HOST:PORT'),
  rewards: z
    .enum(['delta', 'cumulative', 'last'])
    .describe(
      'meaning of the rewards of the server: delta (the reward of this step), cumulative (the sum so far) or last (only the last reward counts)',
    ),
  action: z
    .string()
    .default('tools')
    .describe(
      'how the policy acts. tools: it calls the tools of the server; any other value: the name of the action field that gets its text',
    ),
  show: z.string().default('prompt').describe('field of an observation that becomes the user message to the policy'),
  reset: z.array(z.string()).default([]).describe('columns of the row to send when an episode starts'),
  effect: z.enum(effects).default('once').describe(effectHelp),
  seconds: z.number().positive().default(60).describe('time limit of one tool call in seconds'),
}
const openEnvSchema = z.strictObject(openEnvShape)
export type OpenEnvOptions = z.input<typeof openEnvSchema>
type Settings = z.output<typeof openEnvSchema>

type OpenEnvironment = { open(task: Task, options: OpenOptions): Promise<Session> } & Environment

interface ToolDescription {
  readonly name: string
  readonly description: string
  readonly parameters: Readonly<Record<string, unknown>>
}

const toolsSchema = z.array(
  z.object({
    name: z.string(),
    description: z.string().default(''),
    input_schema: z.record(z.string(), z.unknown()).default({ type: 'object', properties: {} }),
  }),
)
const callSchema = z.object({
  result: z.unknown(),
  error: z.object({ error_type: z.string().default(''), message: z.string().default('') }).nullish(),
})

/** Asks the server for its tools once; a session whose tools are others is refused. Throws an EnvironmentError if the server cannot be used. */
export async function openEnvironment(options: OpenEnvOptions): Promise<OpenEnvironment> {
  const settings = checkedOptions('openEnvironment', openEnvSchema, options)
  const url = socketUrl(settings.url)
  const server = new OpenEnvServer(url)
  const tools = await server.described(settings.action === 'tools' ? 'tools' : 'text')
  const described = { action: settings.action, show: settings.show, rewards: settings.rewards, tools }
  return {
    name: `openenv ${new URL(settings.url).host}`,
    version: createHash('sha256').update(JSON.stringify(described)).digest('hex').slice(0, 16),
    tools: tools.map(tool => unboundTool(tool, settings)),
    adds: settings.action === 'tools' ? ['tool', 'user'] : ['user'],
    open: async (task, open) =>
      new OpenEnvSession(server, await server.connect(open.signal), { task, open, settings, tools }),
  }
}

/** Connections to one server. */
class OpenEnvServer {
  /** Sessions of ours that are open. */
  private open = 0

  constructor(private readonly url: string) {}

  /** A server that is full, or away, is asked again until the signal aborts. */
  async connect(signal: AbortSignal): Promise<OpenEnvConnection> {
    for (let attempt = 0; ; attempt++) {
      const found = await this.tryToConnect(signal)
      if (found.kind === 'connected') return found.connection
      await sleep(Math.min(500 * 2 ** attempt, 8000), undefined, { signal }).catch(() => {
        throw new Error(found.why)
      })
    }
  }

  private async tryToConnect(
    signal: AbortSignal,
  ): Promise<
    | { readonly kind: 'connected'; readonly connection: OpenEnvConnection }
    | { readonly kind: 'away' | 'full'; readonly why: string }
  > {
    let connection: OpenEnvConnection
    try {
      connection = await OpenEnvConnection.open(this.url, signal)
    } catch (error) {
      signal.throwIfAborted()
      return { kind: 'away', why: `the server is away: ${messageOf(error)}` }
    }
    try {
      // A server that is full says so at the first request at the latest.
      await connection.ask('state', {}, signal)
      this.open++
      return { kind: 'connected', connection }
    } catch (error) {
      await connection.close()
      const code = error instanceof OpenEnvError ? error.code : undefined
      // Not every environment has a state before its first reset.
      if (code === 'EXECUTION_ERROR') return { kind: 'connected', connection: await this.connectUnasked(signal) }
      if (code !== 'CAPACITY_REACHED') throw error
      const leaked =
        this.open === 0
          ? ', although no session of this run is open: it may hold sessions of clients that are gone'
          : ''
      return { kind: 'full', why: `the server has no room for another session${leaked} (${messageOf(error)})` }
    }
  }

  private async connectUnasked(signal: AbortSignal): Promise<OpenEnvConnection> {
    const connection = await OpenEnvConnection.open(this.url, signal)
    this.open++
    return connection
  }

  async disconnect(connection: OpenEnvConnection): Promise<void> {
    this.open--
    await connection.close()
  }

  /** Before the first token: whether there is a server, and its tools. */
  async described(kind: 'tools' | 'text'): Promise<ToolDescription[]> {
    const signal = AbortSignal.timeout(20_000)
    try {
      const found = await this.tryToConnect(signal)
      if (found.kind === 'away') throw new Error(found.why)
      // A server that is full now has room later.
      if (found.kind === 'full' && kind === 'text') return []
      const connection = found.kind === 'connected' ? found.connection : await this.connect(signal)
      try {
        if (kind === 'text') return []
        await connection.ask('reset', {}, signal)
        return await toolsOf(connection, signal)
      } finally {
        await this.disconnect(connection)
      }
    } catch (error) {
      const remedy =
        kind === 'tools' ? ' An environment without tools needs action: the name of the field that takes the text.' : ''
      throw new EnvironmentError(
        `The OpenEnv server at ${this.url} cannot be used: ${messageOf(error)}. Start it, or correct the url.${remedy}`,
      )
    }
  }
}

async function toolsOf(connection: OpenEnvConnection, signal: AbortSignal): Promise<ToolDescription[]> {
  const { observation } = observationSchema.parse(await connection.ask('step', { type: 'list_tools' }, signal))
  return toolsSchema.parse(observation.tools).map(({ name, description, input_schema }) => ({
    name,
    description,
    parameters: input_schema,
  }))
}

class OpenEnvSession implements Session {
  readonly tools: readonly Tool[]
  /** Rewards and the end that tool calls of a turn reported. */
  private pending: { reward: number | undefined; done: boolean } = { reward: undefined, done: false }
  private total = 0
  private last: number | undefined
  /** Ends when no call is on its way: calls of a turn may come at the same time, and the server answers one after another. */
  private calls: Promise<unknown> = Promise.resolve()

  constructor(
    private readonly server: OpenEnvServer,
    private readonly connection: OpenEnvConnection,
    private readonly world: {
      readonly task: Task
      readonly open: OpenOptions
      readonly settings: Settings
      readonly tools: readonly ToolDescription[]
    },
  ) {
    const { settings, tools } = world
    this.tools = tools.map(tool => ({
      ...unboundTool(tool, settings),
      run: (input, { signal }) => this.call(tool.name, input, signal),
    }))
  }

  async start(signal: AbortSignal): Promise<readonly ChatMessage[]> {
    const { task, open, settings, tools } = this.world
    const row = task.row as Readonly<Record<string, unknown>>
    const columns = Object.fromEntries(settings.reset.map(name => [name, row[name]]))
    const episode = `${open.promptId}/${open.sample}/${open.attempt}`.slice(0, 255)
    const answer = await this.connection.ask('reset', { ...columns, seed: open.seed, episode_id: episode }, signal)
    const observation = this.observe(answer)
    if (settings.action === 'tools') {
      const now = await toolsOf(this.connection, signal)
      if (JSON.stringify(now) !== JSON.stringify(tools))
        throw new Error('the tools of the server changed since the run started')
    }
    return [...task.messages, ...this.shown(observation)]
  }

  async step({ text }: AssistantTurn, signal: AbortSignal): Promise<StepResult> {
    const { settings } = this.world
    const messages: ChatMessage[] = []
    if (settings.action !== 'tools') {
      const observation = this.observe(await this.connection.ask('step', { [settings.action]: text }, signal))
      messages.push(...this.shown(observation))
    }
    const { reward, done } = this.pending
    this.pending = { reward: undefined, done: false }
    return done ? { kind: 'done', reward } : { kind: 'go-on', messages, reward }
  }

  async score(): Promise<number | undefined> {
    return this.world.settings.rewards === 'last' ? this.last : undefined
  }

  close(): Promise<void> {
    return this.server.disconnect(this.connection)
  }

  private async call(tool: string, input: unknown, signal: AbortSignal): Promise<ToolResult> {
    const action = { type: 'call_tool', tool_name: tool, arguments: input }
    const answer = this.calls.then(() => this.connection.ask('step', action, signal))
    this.calls = answer.catch(() => {})
    const { observation } = this.observe(await answer)
    const { result, error } = callSchema.parse(observation)
    if (error?.error_type === 'transport_error') throw new Error(`${tool}: ${error.message}`)
    if (error) return { content: error.message || error.error_type, isError: true }
    return { content: typeof result === 'string' ? result : JSON.stringify(result ?? null) }
  }

  /** Counts the reward and the end of an answer. A reward of null is none, not 0. */
  private observe(answer: unknown): Observation {
    const observation = observationSchema.parse(answer)
    const { reward, done } = observation
    this.pending.done ||= done
    if (reward === undefined || reward === null) return observation
    const value = Number(reward)
    this.last = value
    const { rewards } = this.world.settings
    if (rewards === 'delta') this.pending.reward = (this.pending.reward ?? 0) + value
    if (rewards === 'cumulative') this.pending.reward = (this.pending.reward ?? 0) + value - this.total
    this.total = value
    return observation
  }

  private shown({ observation }: Observation): ChatMessage[] {
    const value = observation[this.world.settings.show]
    if (value === undefined || value === null || value === '') return []
    return [{ role: 'user', content: typeof value === 'string' ? value : JSON.stringify(value) }]
  }
}

/** A tool as the model reads it. Only that of a session runs. */
function unboundTool(
  { name, description, parameters }: ToolDescription,
  settings: { effect: Effect; seconds: number },
): Tool {
  return {
    name,
    description,
    parameters,
    effect: settings.effect,
    timeoutMs: settings.seconds * 1000,
    maxResultTokens: 1024,
    check: inputCheck(parameters),
    run: () => Promise.reject(new Error(`${name} runs only in a session`)),
  }
}

function socketUrl(address: string): string {
  const url = new URL(address)
  url.protocol = url.protocol.replace('http', 'ws')
  if (!url.pathname.endsWith('/ws')) url.pathname = `${url.pathname.replace(/\/$/, '')}/ws`
  return url.href
}
