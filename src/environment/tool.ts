/** Tools: functions that the policy may call between its turns. */
import { z } from 'zod'
import type { ChatContentPart } from '../text/index.js'
import type { EpisodeKey } from './environment.js'

/**
 * What a repeated call does. `pure`: it changes nothing, and may be repeated at any time. `idempotent`: a repeated call with the same
 * id has the effect of one. `once`: it must not be repeated. If the answer of such a call is lost, the session is given up.
 */
export const effects = ['pure', 'idempotent', 'once'] as const
export type Effect = (typeof effects)[number]
export const effectHelp =
  'whether a call may be repeated. pure: yes, it changes nothing; idempotent: yes, with the same id; once: no, a lost answer restarts the episode'

export interface ToolResult {
  readonly content: string | readonly ChatContentPart[]
  /** The model sees the content as that of an error. */
  readonly isError?: boolean
  /** The episode ends after this turn. */
  readonly stop?: boolean
}

/** The call that a tool runs for. */
export interface CallContext {
  /** The same for a repeated call, and different for every other call of a run. */
  readonly id: string
  readonly episode: EpisodeKey
  /** Aborts at the tool's time limit, and when the episode ends. */
  readonly signal: AbortSignal
}

export interface Tool {
  readonly name: string
  readonly description: string
  /** JSON Schema of the input, as the chat template gets it. */
  readonly parameters: Readonly<Record<string, unknown>>
  readonly effect: Effect
  /** Milliseconds that one call may take. */
  readonly timeoutMs: number
  /** A longer result is cut in the middle, with a note. */
  readonly maxResultTokens: number
  /** The input of a call, or what is wrong with it. The model sees the message. */
  check(
    input: unknown,
  ): { readonly kind: 'ok'; readonly input: unknown } | { readonly kind: 'wrong'; readonly message: string }
  /**
   * An answer is a text or a result. What it throws is a fault of the environment: the episode fails, and starts again in a new
   * session. A mistake of the model is an answer with `isError`.
   */
  run(input: unknown, call: CallContext): Promise<string | ToolResult>
}

export interface ToolOptions<Input extends z.ZodType> {
  readonly name: string
  readonly description: string
  readonly input: Input
  /** Default `once`. */
  readonly effect?: Effect
  /** Default 30 seconds. */
  readonly timeoutMs?: number
  /** Default 1024. */
  readonly maxResultTokens?: number
  run(input: z.output<Input>, call: CallContext): string | ToolResult | Promise<string | ToolResult>
}

/**
 * A tool from a function. Its schema is what the model reads, and what calls are checked against.
 *
 * @example
 * const add = defineTool({
 *   name: 'add',
 *   description: 'Adds two numbers.',
 *   input: z.object({ a: z.number(), b: z.number() }),
 *   effect: 'pure',
 *   run: ({ a, b }) => String(a + b),
 * })
 */
export function defineTool<Input extends z.ZodType>(options: ToolOptions<Input>): Tool {
  const { name, description, input: schema, effect = 'once', timeoutMs = 30_000, maxResultTokens = 1024, run } = options
  const { $schema: _, ...parameters } = z.toJSONSchema(schema, { io: 'input' }) as Record<string, unknown>
  return {
    name,
    description,
    parameters,
    effect,
    timeoutMs,
    maxResultTokens,
    check: input => {
      const parsed = schema.safeParse(input)
      return parsed.success
        ? { kind: 'ok', input: parsed.data }
        : { kind: 'wrong', message: parsed.error.issues.map(issueText).join('; ') }
    },
    run: async (input, call) => run(input as z.output<Input>, call),
  }
}

function issueText({ path, message }: { readonly path: readonly PropertyKey[]; readonly message: string }): string {
  return path.length === 0 ? message : `${path.map(String).join('.')}: ${message}`
}
