/** Limits of an episode: one schema, whose descriptions are the help and the docs. */
import { z } from 'zod'

export const episodeShape = {
  turns: z.int().min(1).default(16).describe('most turns of the policy in an episode'),
  toolCalls: z.int().min(0).default(64).describe('most tool calls in an episode'),
  invalidCalls: z
    .int()
    .min(1)
    .default(4)
    .describe('most turns in a row whose calls are all invalid: not JSON, an unknown tool, a wrong input'),
  turnTokens: z
    .int()
    .min(1)
    .optional()
    .describe('most sampled tokens of one turn; a turn that is cut goes on with the next one (default: maxNewTokens)'),
  seconds: z
    .number()
    .positive()
    .default(600)
    .describe(
      'most seconds of an episode in its environment: sessions, steps and tools; time in the engine does not count',
    ),
  retries: z
    .int()
    .min(0)
    .default(2)
    .describe('how often an episode starts again in a new session after a fault of the environment'),
  concurrency: z.int().min(1).default(64).describe('most episodes at a time'),
  openSeconds: z.number().positive().default(60).describe('most seconds to open a session and to start it'),
  stepSeconds: z.number().positive().default(60).describe('most seconds of one step of a session'),
  history: z
    .enum(['exact', 'append', 'template'])
    .default('exact')
    .describe(
      'what a chat template that rewrites earlier turns does: exact (refused), append (turns stay as they were sampled) or template (the rewritten conversation starts a new segment)',
    ),
  toolFormat: z
    .enum(['auto', 'hermes', 'llama3', 'mistral'])
    .default('auto')
    .describe('how the model writes tool calls; auto: as its chat template does'),
  truncatedReward: z
    .number()
    .optional()
    .describe('reward of an episode that a limit ended, in place of all others (default: scored as any other)'),
}

export const episodeSchema = z.strictObject(episodeShape)

/** As a user writes them: every field may be left out. */
export type EpisodeOptions = z.input<typeof episodeSchema>
/** With every default in its place. */
export type EpisodeLimits = z.output<typeof episodeSchema>
