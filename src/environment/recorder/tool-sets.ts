/** Agents bring their tools with each request. What a chat template makes of a set of tools is checked once, at its first use. */
import { Junctions, type Tokenizer, type ToolFormat, toolFormatOf } from '../../text/index.js'
import { EnvironmentError } from '../errors.js'
import { inputCheck } from '../input-check.js'
import type { EpisodeLimits } from '../limits.js'
import type { Tool } from '../tool.js'
import { hashOf } from './message-key.js'

/** How conversations with a set of tools are written and read. */
export interface ToolSet {
  /** Names the tools and the variables of the template. */
  readonly key: string
  readonly junctions: Junctions
  readonly format: ToolFormat | undefined
  /** Checks of inputs by the name of the tool. */
  readonly checks: ReadonlyMap<string, Tool['check']>
}

export interface AskedTools {
  /** As clients of OpenAI's API send them. */
  readonly tools?: readonly object[] | undefined
  /** Variables of the chat template. */
  readonly variables?: Readonly<Record<string, unknown>> | undefined
}

/** A run whose agents never bring the same tools twice would fill the memory. */
const mostSets = 256

export class ToolSets {
  readonly #sets = new Map<string, Promise<ToolSet>>()

  constructor(
    private readonly options: {
      readonly tokenizer: Tokenizer
      readonly limits: Pick<EpisodeLimits, 'history' | 'toolFormat'>
      /** What agents add after turns. */
      readonly adds: readonly ('tool' | 'user')[]
      readonly now: Date
    },
  ) {}

  /** Throws where the chat template cannot write the tools, or rewrites turns. */
  of(asked: AskedTools): Promise<ToolSet> {
    const { tools = [], variables = {} } = asked
    const key = hashOf([tools, variables])
    const known = this.#sets.get(key)
    if (known) return known
    const made = this.make(key, tools, variables)
    this.#sets.set(key, made)
    made.catch(() => this.#sets.delete(key))
    const [oldest] = this.#sets.keys()
    if (this.#sets.size > mostSets) this.#sets.delete(oldest!)
    return made
  }

  private async make(
    key: string,
    tools: readonly object[],
    variables: Readonly<Record<string, unknown>>,
  ): Promise<ToolSet> {
    const { tokenizer, limits, adds, now } = this.options
    const described = tools.map(describedTool)
    const source = tokenizer.templateSource(tools.length > 0 ? { tools } : {}) ?? ''
    const format = limits.toolFormat === 'auto' ? toolFormatOf(source) : limits.toolFormat
    if (tools.length > 0 && !format)
      throw new EnvironmentError(
        'tools: the chat template does not say how calls are written; set toolFormat to hermes, llama3 or mistral, or give another chatTemplate',
      )
    const given = { ...(tools.length > 0 ? { tools } : {}), variables }
    const junctions = await Junctions.open(
      { tokenizer, now, ...given },
      {
        adds: adds.filter(one => one === 'user' || tools.length > 0),
        history: limits.history === 'exact' ? 'exact' : 'append',
        toolName: described[0]?.name,
      },
    )
    const checks = new Map(described.map(({ name, parameters }) => [name, inputCheck(parameters)]))
    return { key, junctions, format: tools.length > 0 ? format : undefined, checks }
  }
}

function describedTool(tool: object): {
  readonly name: string
  readonly parameters: Readonly<Record<string, unknown>>
} {
  const { type, function: given } = tool as {
    readonly type?: unknown
    readonly function?: { readonly name?: unknown; readonly parameters?: unknown }
  }
  if (type !== 'function' || typeof given?.name !== 'string' || given.name === '')
    throw new EnvironmentError(
      'tools: expected {"type": "function", "function": {"name", "description", "parameters"}}',
    )
  const parameters = typeof given.parameters === 'object' && given.parameters !== null ? given.parameters : {}
  return { name: given.name, parameters: parameters as Readonly<Record<string, unknown>> }
}
