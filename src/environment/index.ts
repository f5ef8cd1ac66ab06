/**
 * Environments: episodes of several turns with tools. A row of data becomes a conversation between the policy and an environment, and the
 * conversation becomes a sequence whose sampled tokens are trained.
 *
 * @example
 * const add = defineTool({
 *   name: 'add',
 *   description: 'Adds two numbers.',
 *   input: z.object({ a: z.number(), b: z.number() }),
 *   effect: 'pure',
 *   run: ({ a, b }) => String(a + b),
 * })
 */
export { calculate, calculator } from './calculator.js'
export * from './environment.js'
export * from './episode.js'
export { EnvironmentError } from './errors.js'
export * from './journal.js'
export { type EpisodeLimits, type EpisodeOptions, episodeSchema } from './limits.js'
export { type McpOptions, type McpTools, mcpSchema, mcpTools } from './mcp/index.js'
export { type EpisodeRules, episodeRules, episodeWorld, toolSchema } from './open-world.js'
export { type OpenEnvOptions, openEnvironment, openEnvShape } from './openenv/index.js'
export { signalGroup, tieGroup } from './process-group.js'
export { endRecord, historyOf, RecordedAttempt, restoredOutcome } from './recorded.js'
export * from './recorder/index.js'
export { type AttemptOptions, type EpisodeWorld, runAttempt } from './run-attempt.js'
export { type AskedEpisode, runEpisode, runEpisodes } from './run-episodes.js'
export * from './tool.js'
export { type ToolEnvironmentOptions, toolEnvironment } from './tool-environment.js'
