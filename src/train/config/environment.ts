/** Options of episodes: which environment or tools, and their limits; and how environments are loaded. */
import { existsSync } from 'node:fs'
import { basename, dirname, extname, relative, resolve, sep } from 'node:path'
import { z } from 'zod'
import {
  calculator,
  type Environment,
  EnvironmentError,
  episodeSchema,
  type McpTools,
  mcpSchema,
  mcpTools,
  openEnvironment,
  openEnvShape,
  type Tool,
  toolEnvironment,
} from '../../environment/index.js'
import { didYouMean, naming, refuse } from '../../errors/index.js'
import { moduleFiles } from '../../files/index.js'
import { isDefinitionPath } from '../../maths/index.js'
import { agentEnvironment, agentShape } from '../../serve/index.js'
import { defaultExport, kindOf } from './load-module.js'

/** Tools that a config names. */
const knownTools: Readonly<Record<string, Tool>> = { calculator }
export const toolNames = Object.keys(knownTools)

/** Configs are copied into run directories and shown to people. */
function withoutPassword(text: string): boolean {
  return !URL.canParse(text) || (new URL(text).username === '' && new URL(text).password === '')
}
const passwordProblem = 'a URL must not contain a user or a password'

/** Environments that a config describes. */
const describedEnvironment = z.discriminatedUnion(
  'type',
  [
    z.strictObject({
      type: z.literal('openenv').describe('environments of an OpenEnv server'),
      ...openEnvShape,
      url: openEnvShape.url.refine(withoutPassword, passwordProblem),
    }),
    z.strictObject({ type: z.literal('agent').describe('a program that calls the policy by itself'), ...agentShape }),
  ],
  { error: 'expected a file, or type: openenv or agent with their options' },
)
const toolOption = z.union([z.string().min(1), z.strictObject({ mcp: mcpSchema })], {
  error: 'expected calculator, a file, or { mcp: { command } } or { mcp: { url } }',
})

export const environmentShape = {
  environment: z
    .union([z.string().min(1), describedEnvironment])
    .optional()
    .describe(
      'environment of the episodes: a file that exports one as default (defineEnvironment, toolEnvironment, agentEnvironment), {type: openenv, url, rewards} or {type: agent, command}',
    ),
  tools: z
    .array(toolOption)
    .min(1)
    .optional()
    .describe(
      `tools that the model may call before it answers: ${toolNames.join(', ')}, files that export a tool or a list of tools as default (defineTool), or {mcp: {command}} and {mcp: {url}} for the tools of an MCP server`,
    ),
  episode: episodeSchema.optional().describe('limits of episodes'),
}

interface EnvironmentConfig {
  readonly environment?: string | z.output<typeof describedEnvironment> | undefined
  readonly tools?: readonly z.output<typeof toolOption>[] | undefined
}

export const hasEnvironment = ({ environment, tools }: EnvironmentConfig): boolean =>
  environment !== undefined || tools !== undefined

/** The environment of a config; undefined where it has none. What a program gives comes first. */
export async function loadEnvironment(
  { environment, tools }: EnvironmentConfig,
  live: { readonly environment?: Environment | undefined } = {},
): Promise<Environment | undefined> {
  if (live.environment) return live.environment
  if (typeof environment === 'object') {
    if (environment.type === 'openenv') {
      const { type: _, ...options } = environment
      return openEnvironment(options)
    }
    const { type: _, ...options } = environment
    return agentEnvironment(options)
  }
  if (environment !== undefined) {
    const main = await defaultExport(resolve(environment)).catch(error => refuse('environment', error))
    if (isEnvironment(main)) return main
    throw new EnvironmentError(
      `environment: ${environment}: expected a default export of defineEnvironment, toolEnvironment or agentEnvironment, got ${kindOf(main)}`,
    )
  }
  return tools && serverTools(tools)
}

/** Servers of tools run until the environment is closed. If one cannot be used, none is left running. */
async function serverTools(names: NonNullable<EnvironmentConfig['tools']>): Promise<Environment> {
  const tools: Tool[] = []
  const servers: McpTools[] = []
  const close = async (): Promise<void> => void (await Promise.all(servers.map(server => server.close())))
  try {
    for (const one of names) {
      if (typeof one === 'string') {
        tools.push(...(await loadTools([one])))
        continue
      }
      const server = await mcpTools(one.mcp)
      servers.push(server)
      tools.push(...server.tools)
    }
    const version = servers.map(server => server.version).join(' ') || '1'
    return { ...toolEnvironment({ tools, version }), ...(servers.length > 0 ? { close } : {}) }
  } catch (error) {
    await close()
    throw error
  }
}

async function loadTools(names: readonly string[]): Promise<Tool[]> {
  const found: Tool[] = []
  for (const name of names) {
    const known = knownTools[name]
    if (known) found.push(known)
    else if (isDefinitionPath(name) && !isMisspelt(name)) {
      const main = await defaultExport(resolve(name)).catch(error => refuse('tools', error))
      const list: unknown[] = [main].flat()
      const wrong = list.find(one => !isTool(one))
      if (wrong !== undefined || list.length === 0)
        throw new EnvironmentError(`tools: ${name}: expected a default export of defineTool, got ${kindOf(wrong)}`)
      found.push(...(list as Tool[]))
    } else
      naming('tools', () => {
        const typed = basename(name)
        throw new EnvironmentError(
          `there is no tool "${typed}"${didYouMean(typed, toolNames) || `; there are ${toolNames.join(', ')}, and files such as ./tool.ts`}`,
        )
      })
  }
  return found
}

/** A name that is no tool was read as a path: of a file without an ending, which is not there. */
const isMisspelt = (path: string): boolean => extname(path) === '' && !existsSync(resolve(path))

export function isEnvironment(value: unknown): value is Environment {
  return typeof value === 'object' && value !== null && 'open' in value && typeof value.open === 'function'
}

export function isTool(value: unknown): value is Tool {
  return typeof value === 'object' && value !== null && 'run' in value && 'parameters' in value && 'name' in value
}

/** The files of an environment and of tools, with what they import by a path. */
export async function environmentInputs({
  environment,
  tools = [],
}: EnvironmentConfig): Promise<Record<string, { name: string; path: string }[]>> {
  const inputs: Record<string, { name: string; path: string }[]> = {}
  const files = [
    ...(typeof environment === 'string' ? [{ option: 'environment', file: environment }] : []),
    ...tools.flatMap(file => (typeof file === 'string' && isDefinitionPath(file) ? [{ option: 'tools', file }] : [])),
  ]
  for (const { option, file } of files) {
    const found = await moduleFiles([resolve(file)])
    const name = (path: string): string =>
      relative(dirname(resolve(file)), path)
        .split(sep)
        .join('/')
    inputs[option] = [...(inputs[option] ?? []), ...found.map(path => ({ name: name(path), path }))]
  }
  return inputs
}
