/**
 * The contract of environments: a row of data in, a session out. The session and the policy speak in turns. Environments see messages,
 * never token ids; the runner never sees the state of an environment.
 */
import type { DataRow } from '../data/index.js'
import type { ChatMessage } from '../text/index.js'
import type { Episode } from './episode.js'
import type { Policy } from './recorder/recorder.js'
import type { Effect, Tool, ToolResult } from './tool.js'

/** Names an episode: sample `sample` of a prompt. `attempt` counts the sessions that failed before this one. */
export interface EpisodeKey {
  readonly promptId: string
  readonly sample: number
  readonly attempt: number
}

/** The row that an episode starts from. */
export interface Task<Row = DataRow> {
  readonly row: Row
  /** The prompt of the row: a text is one message of the user. Empty where the row has none. */
  readonly messages: readonly ChatMessage[]
  readonly label: string | undefined
  readonly target: string | readonly string[] | undefined
}

export interface OpenOptions extends EpisodeKey {
  /** The same for all samples of a prompt, so that a group is compared on the same task. */
  readonly seed: number
  readonly signal: AbortSignal
}

export interface Environment<Row = DataRow> {
  readonly name: string
  /** Recorded with every episode. */
  readonly version: string
  /** Tools of every session, where they are known before the first: they are checked at the start of a run. Default: none. */
  readonly tools?: readonly Tool[]
  /**
   * What sessions add to a conversation after a turn: results of tools, messages of the user. The chat template is checked for these at the
   * start of a run. Default: results of tools if there are tools, and messages of the user.
   */
  readonly adds?: readonly ('tool' | 'user')[]
  open(task: Task<Row>, options: OpenOptions): Promise<Session | AgentSession>
  /** Called once at the end of a run. */
  close?(): Promise<void>
}

/**
 * One episode of an environment. A session is used once. `close` is called once on every path, also after `start` or `step` failed.
 */
export interface Session {
  /** The tools of this session. Default: those of the environment. */
  readonly tools?: readonly Tool[]
  /** The messages before the first turn of the policy: system, user. */
  start(signal: AbortSignal): Promise<readonly ChatMessage[]>
  /** After each turn of the policy. The results of its calls are given. */
  step(turn: AssistantTurn, signal: AbortSignal): Promise<StepResult>
  /** Names the state that the next turn acts in. Turns of a group that act in the same state are compared (GiGPO). */
  stateKey?(): string
  /** The reward of the whole episode, added to those of its turns. Undefined: none. */
  score?(episode: Episode, signal: AbortSignal): Promise<number | undefined>
  close?(): Promise<void>
}

/**
 * One episode of an agent that owns the loop. It asks the policy with whole conversations, as often as it likes; the calls become the turns
 * of an episode. A session is used once.
 */
export interface AgentSession {
  /** Ends when the agent has ended. What it throws is a fault: the episode starts again in a new session. */
  run(policy: Policy, signal: AbortSignal): Promise<{ readonly reward?: number | undefined } | undefined>
  /** What a second start of a killed agent does. Default `once`: the killed attempt counts as failed. */
  readonly effect?: Effect
  /** The reward of the whole episode, added to that of `run`. Undefined: none. */
  score?(episode: Episode, signal: AbortSignal): Promise<number | undefined>
  close?(): Promise<void>
}

/** A turn of the policy, as text. */
export interface AssistantTurn {
  /** Without reasoning and calls. */
  readonly text: string
  readonly reasoning: string | undefined
  readonly calls: readonly ToolCall[]
  /** One for each call, in the order of the calls. */
  readonly results: readonly ToolResult[]
  /** From 0. */
  readonly turn: number
}

/** A call that the policy wrote. `invalid`: it was not run; the model sees the message. */
export type ToolCall = {
  readonly id: string
  readonly name: string
  /** As the policy wrote it. */
  readonly argumentsText: string
} & (
  | { readonly status: 'ok'; readonly input: unknown }
  | { readonly status: 'invalid-json' | 'schema' | 'unknown-tool' | 'malformed'; readonly message: string }
)

/**
 * `go-on`: the policy speaks next; without messages and without results of tools there is nothing to answer, and the episode ends as
 * `answered`. `done`: the episode is over.
 */
export type StepResult =
  | { readonly kind: 'go-on'; readonly messages?: readonly ChatMessage[]; readonly reward?: number | undefined }
  | { readonly kind: 'done'; readonly reward?: number | undefined }

/** For environments that are a file of a config: checks the shape and keeps the types of rows. */
export function defineEnvironment<Row = DataRow>(environment: Environment<Row>): Environment<Row> {
  return environment
}
