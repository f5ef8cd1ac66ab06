/** Limits of an episode: one schema, whose descriptions are the help and the docs. */
import { z } from 'zod'

const episodeShape = {
  turns: z.int().min(1).default(16).describe('most turns of the policy in an episode'),
  toolCalls: z.int().min(0).default(64).describe('most tool calls in an episode'),
  invalidCalls: z
    .int()
    .min(1)
    .default(4)
    .describe('most turns in a row with only invalid calls: not JSON, an unknown tool, a wrong input'),
  turnTokens: z
    .int()
    .min(1)
    .optional()
    .describe('most sampled tokens of one turn; after a cut turn the episode continues (default: maxNewTokens)'),
  seconds: z
    .number()
    .positive()
    .default(600)
    .describe('time limit of an episode in seconds: sessions, steps and tools; time in the engine does not count'),
  retries: z
    .int()
    .min(0)
    .default(2)
    .describe('how often an episode restarts in a new session after an error of the environment'),
  concurrency: z.int().min(1).default(64).describe('most episodes at a time'),
  openSeconds: z.number().positive().default(60).describe('time limit to open and start a session, in seconds'),
  stepSeconds: z.number().positive().default(60).describe('time limit of one step of a session in seconds'),
  history: z
    .enum(['exact', 'append', 'template'])
    .default('exact')
    .describe(
      'what to do if the chat template rewrites earlier turns: exact (refuse the run), append (keep turns as they were sampled) or template (start a new segment with the rewritten conversation)',
    ),
  toolFormat: z
    .enum(['auto', 'hermes', 'llama3', 'mistral'])
    .default('auto')
    .describe('format of tool calls; auto: the one of the chat template'),
  truncatedReward: z
    .number()
    .optional()
    .describe('the only reward of an episode that a limit ended (default: it is scored like any other)'),
}

export const episodeSchema = z.strictObject(episodeShape)

/** As a user writes them: every field may be left out. */
export type EpisodeOptions = z.input<typeof episodeSchema>
/** With every default in its place. */
export type EpisodeLimits = z.output<typeof episodeSchema>
