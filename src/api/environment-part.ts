/** An environment or tools of a program, in place of files. */
import { type Environment, type Tool, toolEnvironment, toolSchema } from '../environment/index.js'
import { InputError } from '../errors/index.js'
import { isEnvironment, isTool } from '../train/index.js'

/** Takes an environment, or tools, out of the options. Names stay for the config to read. */
export function environmentPart(values: Record<string, unknown>): Environment | undefined {
  const { environment, tools } = values
  if (typeof environment === 'object' && environment !== null && !('type' in environment)) {
    if (!isEnvironment(environment))
      throw new InputError('environment: expected a file, or an environment such as toolEnvironment({ tools })')
    return environment
  }
  const isNamed = (one: unknown): boolean =>
    typeof one === 'string' || (typeof one === 'object' && one !== null && 'mcp' in one)
  if (!Array.isArray(tools) || tools.every(isNamed)) return undefined
  const wrong = tools.find(one => !isTool(one))
  if (wrong !== undefined)
    throw new InputError('tools: expected tools such as defineTool(...), or names; a list has one kind of them')
  delete values.tools
  return toolEnvironment({ tools: tools as Tool[] })
}

/** What a run records of it. A resumed run is compared by this. */
export function environmentText({ name, version, tools = [] }: Environment): string {
  return `${JSON.stringify({ name, version, tools: tools.map(toolSchema) }, undefined, 2)}\n`
}
