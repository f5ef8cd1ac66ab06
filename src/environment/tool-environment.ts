/** An environment that is a set of tools: the policy calls them until it answers. */
import type { DataRow } from '../data/index.js'
import type { ChatMessage } from '../text/index.js'
import type { Environment, Task } from './environment.js'
import type { Episode } from './episode.js'
import type { Tool } from './tool.js'

export interface ToolEnvironmentOptions<Row = DataRow> {
  readonly tools: readonly Tool[]
  /** Default `tools`. */
  readonly name?: string
  /** Default `1`. */
  readonly version?: string
  /** The messages before the first turn. Default: the prompt of the row. */
  prompt?(task: Task<Row>): readonly ChatMessage[]
  /** The reward of an episode. `answer` is what the policy said last, without reasoning and calls. Default: the rewards of the run. */
  reward?(
    given: Task<Row> & { readonly answer: string; readonly episode: Episode },
  ): number | undefined | Promise<number | undefined>
}

/**
 * @example
 * const environment = toolEnvironment({
 *   tools: [calculator],
 *   reward: ({ answer, target }) => (answer.includes(String(target)) ? 1 : 0),
 * })
 */
export function toolEnvironment<Row = DataRow>(options: ToolEnvironmentOptions<Row>): Environment<Row> {
  const { tools, name = 'tools', version = '1', prompt, reward } = options
  return {
    name,
    version,
    tools,
    adds: tools.length > 0 ? ['tool'] : [],
    open: async task => ({
      start: async () => prompt?.(task) ?? task.messages,
      step: async ({ calls }) => (calls.length > 0 ? { kind: 'go-on' } : { kind: 'done' }),
      ...(reward
        ? { score: async (episode: Episode) => reward({ ...task, answer: episode.turns.at(-1)!.text, episode }) }
        : {}),
    }),
  }
}
