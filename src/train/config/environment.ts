/** Options of episodes: which environment or tools, and their limits; and how environments are loaded. */
import { dirname, relative, resolve, sep } from 'node:path'
import { z } from 'zod'
import {
  calculator,
  type Environment,
  EnvironmentError,
  episodeSchema,
  type Tool,
  toolEnvironment,
} from '../../environment/index.js'
import { didYouMean, naming } from '../../errors/index.js'
import { moduleFiles } from '../../files/index.js'
import { isDefinitionPath } from '../../maths/index.js'
import { defaultExport, kindOf } from './load-module.js'

/** Tools that a config names. */
const knownTools: Readonly<Record<string, Tool>> = { calculator }
export const toolNames = Object.keys(knownTools)

export const environmentShape = {
  environment: z
    .string()
    .min(1)
    .optional()
    .describe('environment of episodes: a file whose default export it is (defineEnvironment, toolEnvironment)'),
  tools: z
    .array(z.string().min(1))
    .min(1)
    .optional()
    .describe(
      `tools that the model may call before it answers: ${toolNames.join(', ')}, or files whose default export is a tool or a list of tools (defineTool)`,
    ),
  episode: episodeSchema.optional().describe('limits of episodes'),
}

export interface EnvironmentConfig {
  readonly environment?: string | undefined
  readonly tools?: readonly string[] | undefined
}

export const hasEnvironment = ({ environment, tools }: EnvironmentConfig): boolean =>
  environment !== undefined || tools !== undefined

/** The environment of a config; undefined where it has none. What a program gives comes first. */
export async function loadEnvironment(
  { environment, tools }: EnvironmentConfig,
  live: { readonly environment?: Environment | undefined } = {},
): Promise<Environment | undefined> {
  if (live.environment) return live.environment
  if (environment !== undefined) {
    const main = await defaultExport(resolve(environment))
    if (isEnvironment(main)) return main
    throw new EnvironmentError(
      `environment: ${environment}: expected a default export of defineEnvironment or toolEnvironment, got ${kindOf(main)}`,
    )
  }
  return tools && toolEnvironment({ tools: await loadTools(tools) })
}

async function loadTools(names: readonly string[]): Promise<Tool[]> {
  const found: Tool[] = []
  for (const name of names) {
    const known = knownTools[name]
    if (known) found.push(known)
    else if (isDefinitionPath(name)) {
      const main = await defaultExport(resolve(name))
      const list: unknown[] = [main].flat()
      const wrong = list.find(one => !isTool(one))
      if (wrong !== undefined || list.length === 0)
        throw new EnvironmentError(`tools: ${name}: expected a default export of defineTool, got ${kindOf(wrong)}`)
      found.push(...(list as Tool[]))
    } else
      naming('tools', () => {
        throw new EnvironmentError(
          `there is no tool "${name}"${didYouMean(name, toolNames) || `; there are ${toolNames.join(', ')}, and files such as ./tool.ts`}`,
        )
      })
  }
  return found
}

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
    ...(environment === undefined ? [] : [{ option: 'environment', file: environment }]),
    ...tools.filter(isDefinitionPath).map(file => ({ option: 'tools', file })),
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
