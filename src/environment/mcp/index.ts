/**
 * Tools of an MCP server: a child process, or a server behind HTTP. The tools are read once, at the start of a run.
 *
 * One server serves all episodes of a run at the same time, so its tools should keep no state between calls.
 *
 * @example
 * const files = await mcpTools({ command: ['npx', '@modelcontextprotocol/server-filesystem', 'docs'], effect: 'pure' })
 * try {
 *   console.log(files.tools.map(({ name }) => name))
 * } finally {
 *   await files.close()
 * }
 */
import { createHash } from 'node:crypto'
import { z } from 'zod'
import { checkedOptions } from '../../errors/index.js'
import { EnvironmentError } from '../errors.js'
import { messageOf } from '../fault.js'
import { inputCheck } from '../input-check.js'
import { effectHelp, effects, type Tool, type ToolResult } from '../tool.js'
import { type ListedTool, McpServer } from './server.js'

const mcpShape = {
  command: z
    .tuple([z.string()], z.string())
    .optional()
    .describe('program and arguments of a server that uses standard input and output (stdio)'),
  url: z
    .url({ protocol: /^https?$/ })
    .refine(text => new URL(text).username === '' && new URL(text).password === '', {
      error:
        'a URL must not contain a user or a password; put the key into an environment variable and name it in apiKeyEnv',
    })
    .optional()
    .describe('address of a server that uses HTTP'),
  apiKeyEnv: z
    .string()
    .min(1)
    .optional()
    .describe('name of the environment variable that holds the bearer token for url'),
  env: z.record(z.string(), z.string()).default({}).describe('environment variables of the program'),
  passEnv: z
    .array(z.string().min(1))
    .default([])
    .describe('names of environment variables to pass to the program unchanged, such as keys'),
  tools: z.array(z.string()).optional().describe('names of the tools to use (default: all)'),
  effect: z.enum(effects).default('once').describe(effectHelp),
  seconds: z.number().positive().default(60).describe('time limit of one call and of the start, in seconds'),
  maxResultTokens: z
    .int()
    .min(16)
    .default(1024)
    .describe('most tokens of a result; a longer result is cut in the middle'),
}
export const mcpSchema = z
  .strictObject(mcpShape)
  .refine(({ command, url }) => (command === undefined) !== (url === undefined), {
    error: 'give either command or url',
  })
export type McpOptions = z.input<typeof mcpSchema>
type Settings = z.output<typeof mcpSchema>

export interface McpTools {
  readonly tools: readonly Tool[]
  /** Hash of the names, descriptions and schemas: a resumed run refuses others. */
  readonly version: string
  close(): Promise<void>
}

/** Throws an EnvironmentError if the server does not start, or lacks a tool that was named. */
export async function mcpTools(options: McpOptions): Promise<McpTools> {
  const settings = checkedOptions('mcpTools', mcpSchema, options)
  const { command, url, seconds, apiKeyEnv } = settings
  const passed = settings.passEnv.map(name => [name, variable(name, 'passEnv')])
  const env = { ...settings.env, ...Object.fromEntries(passed) }
  const headers = apiKeyEnv === undefined ? {} : { authorization: `Bearer ${variable(apiKeyEnv, 'apiKeyEnv')}` }
  const place = command ? command.join(' ') : url!
  let frozen: string | undefined
  const server = new McpServer(
    { seconds, ...(command ? { command: { command, env } } : { http: { url: url!, headers } }) },
    found => {
      const version = versionOf(chosen(found, settings, place))
      frozen ??= version
      if (version !== frozen)
        throw new EnvironmentError(`The tools of the MCP server ${place} changed since the run started.`)
    },
  )
  try {
    const tools = chosen(await server.start(), settings, place).map(tool => toolOf(tool, server, settings))
    return { tools, version: frozen!, close: () => server.close() }
  } catch (error) {
    if (error instanceof EnvironmentError) throw error
    throw new EnvironmentError(`The MCP server ${place} cannot be used: ${messageOf(error)}`)
  }
}

function versionOf(tools: readonly ListedTool[]): string {
  const described = tools.map(({ name, description = '', inputSchema }) => ({
    name,
    description,
    parameters: inputSchema,
  }))
  return createHash('sha256').update(JSON.stringify(described)).digest('hex').slice(0, 16)
}

function variable(name: string, option: string): string {
  const value = process.env[name]
  if (!value) throw new EnvironmentError(`tools.mcp.${option}: the environment variable ${name} is not set`)
  return value
}

function chosen(found: readonly ListedTool[], { tools: names }: Settings, place: string): readonly ListedTool[] {
  if (!names) return found
  return names.map(name => {
    const tool = found.find(one => one.name === name)
    if (tool) return tool
    const known = found.map(one => one.name).join(', ')
    throw new EnvironmentError(`The MCP server ${place} has no tool ${name}; it has ${known || 'none'}.`)
  })
}

function toolOf(
  { name, description = '', inputSchema }: ListedTool,
  server: McpServer,
  { effect, seconds, maxResultTokens }: Settings,
): Tool {
  const parameters = inputSchema as Readonly<Record<string, unknown>>
  return {
    name,
    description,
    parameters,
    effect,
    timeoutMs: seconds * 1000,
    maxResultTokens,
    check: inputCheck(parameters),
    run: async (input, { signal }) => {
      const { content, structuredContent, isError } = await server.call(name, input, signal)
      return resultOf(content ?? [], structuredContent, isError === true)
    },
  }
}

/** Texts as they are. Of other content the model reads its kind. */
function resultOf(content: readonly { readonly type: string }[], structured: unknown, isError: boolean): ToolResult {
  const texts = content.map(part =>
    part.type === 'text' && 'text' in part ? String(part.text) : `[${part.type}: not shown]`,
  )
  const text = texts.length > 0 || structured === undefined ? texts.join('\n') : JSON.stringify(structured)
  return { content: text, ...(isError ? { isError } : {}) }
}
