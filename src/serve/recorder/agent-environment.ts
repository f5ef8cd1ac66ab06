/**
 * Agents that own the loop as an environment. A program, or a function, asks the policy through OpenAI's API; its calls become an episode.
 *
 * @example
 * const environment = agentEnvironment({ command: ['python3', 'agent.py'] })
 */
import { z } from 'zod'
import type { DataRow } from '../../data/index.js'
import {
  type Environment,
  EnvironmentError,
  type Episode,
  effects,
  type OpenOptions,
  type Policy,
  type Task,
} from '../../environment/index.js'
import { checkedOptions } from '../../errors/index.js'
import { longestVariable, runProgram } from './agent-program.js'
import { type AgentEndpoint, AgentServer } from './agent-server.js'

export const agentShape = {
  command: z
    .tuple([z.string().min(1)], z.string())
    .describe(
      'program and arguments; runs once for each sample, and calls the policy at OPENAI_BASE_URL with OPENAI_API_KEY',
    ),
  directory: z.string().min(1).optional().describe('working directory of the program (default: the one of the run)'),
  env: z.record(z.string(), z.string()).default({}).describe('more environment variables for the program'),
  effect: z
    .enum(effects)
    .default('once')
    .describe(
      'whether a resumed run may start the program again for the same sample: pure and idempotent: yes; once: only within episode.retries',
    ),
  version: z.string().min(1).default('1').describe('version of the program; a resumed run refuses another one'),
}
const agentSchema = z.strictObject(agentShape)
export type AgentProgramOptions = z.input<typeof agentSchema>

/** What a function of an agent gets. */
export interface AgentRun<Row = DataRow> extends AgentEndpoint {
  readonly task: Task<Row>
  readonly options: Omit<OpenOptions, 'signal'>
  /** The same policy without HTTP. */
  readonly policy: Policy
  readonly signal: AbortSignal
}

export interface AgentFunctionOptions<Row = DataRow>
  extends Omit<AgentProgramOptions, 'command' | 'directory' | 'env'> {
  /** Runs the agent. Its reward is that of the episode. */
  run(agent: AgentRun<Row>): Promise<{ readonly reward?: number | undefined } | undefined>
}

export type AgentOptions<Row = DataRow> = (AgentProgramOptions | AgentFunctionOptions<Row>) & {
  /** Default `agent`. */
  readonly name?: string
  /** The reward of an episode, added to that of the agent. `answer` is what the policy said last. */
  reward?(
    given: Task<Row> & { readonly answer: string; readonly episode: Episode },
  ): number | undefined | Promise<number | undefined>
}

export function agentEnvironment<Row = DataRow>(given: AgentOptions<Row>): Environment<Row> {
  const { name = 'agent', reward, ...options } = given
  const settings = settingsOf(options as AgentProgramOptions | AgentFunctionOptions<Row>)
  let server: Promise<AgentServer> | undefined
  return {
    name,
    version: settings.version,
    open: async (task, open) => {
      server ??= AgentServer.start()
      const listening = await server
      const { signal: _, ...key } = open
      return {
        effect: settings.effect,
        run: async (policy, signal) => {
          const endpoint = listening.open(policy)
          try {
            const { reward: posted, close: __, ...agent } = endpoint
            const own = await settings.run({ ...agent, task, options: key, policy, signal })
            return { reward: own?.reward ?? posted() }
          } finally {
            endpoint.close()
          }
        },
        ...(reward
          ? { score: async (episode: Episode) => reward({ ...task, answer: episode.turns.at(-1)!.text, episode }) }
          : {}),
      }
    },
    close: async () => {
      const listening = await server
      server = undefined
      await listening?.close()
    },
  }
}

function settingsOf<Row>(given: AgentProgramOptions | AgentFunctionOptions<Row>) {
  if ('run' in given) {
    const { run, ...rest } = given
    return { ...checkedOptions('agentEnvironment', agentSchema.omit({ command: true }), rest), run }
  }
  const { command, directory, env, ...rest } = checkedOptions('agentEnvironment', agentSchema, given)
  return { ...rest, run: (agent: AgentRun<Row>) => runAgent({ command, directory, env }, agent) }
}

/** What a program reads in its environment: where to ask, its key, and the row. */
async function runAgent<Row>(
  { command, directory, env }: Pick<z.output<typeof agentSchema>, 'command' | 'directory' | 'env'>,
  { baseUrl, apiKey, endUrl, model, task, options, signal }: AgentRun<Row>,
): Promise<undefined> {
  let input: string
  try {
    input = JSON.stringify({ ...task, ...options })
  } catch (error) {
    throw new EnvironmentError(`the row cannot be written as JSON: ${(error as Error).message}`)
  }
  const variables = {
    ...env,
    OPENAI_BASE_URL: baseUrl,
    OPENAI_API_KEY: apiKey,
    WHETSTONE_MODEL: model,
    WHETSTONE_END_URL: endUrl,
    ...(input.length <= longestVariable ? { WHETSTONE_TASK: input } : {}),
  }
  await runProgram({ command, cwd: directory, env: variables, input }, signal)
  return undefined
}
