/** Tools of tests, called as Qwen's chat template calls them. */
import { z } from 'zod'
import {
  defineTool,
  type Effect,
  type Environment,
  type EpisodeOutcome,
  type Tool,
  toolEnvironment,
} from '../../src/environment/index.js'
import type { Tokenizer } from '../../src/text/index.js'
import { familyTokenizer } from '../support/episodes.js'

export const tokenizer: Tokenizer = await familyTokenizer('qwen2_5')
export const call = (name: string, given: object = {}): string =>
  `<tool_call>\n${JSON.stringify({ name, arguments: given })}\n</tool_call>`
export const asked = { messages: [{ role: 'user', content: 'Go.' }] }

/** A tool that takes anything. */
export const toolOf = (
  name: string,
  run: () => unknown,
  options: { effect?: Effect; timeoutMs?: number; maxResultTokens?: number } = {},
): Tool =>
  defineTool({
    name,
    description: 'A tool.',
    input: z.looseObject({}),
    effect: 'pure',
    ...options,
    run: async () => (await run()) as string,
  })

export const withTools = (...tools: Tool[]): Environment => toolEnvironment({ tools, reward: () => 1 })

export function episodeOf(outcome: EpisodeOutcome) {
  if (!('episode' in outcome)) throw new Error(JSON.stringify(outcome))
  return outcome.episode
}

export const results = (outcome: EpisodeOutcome): string[] =>
  episodeOf(outcome).turns.flatMap(({ messages }) =>
    messages.flatMap(({ role, content }) => (role === 'tool' ? [String(content)] : [])),
  )
