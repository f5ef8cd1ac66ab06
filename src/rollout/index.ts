/**
 * Rollouts: prompts in, samples out.
 *
 * @example
 * const engine = new LocalEngine(actor, { tokenizer })
 * const requests = prompts.map((promptIds, i) => ({ id: `${i}`, promptIds, n: 8, sampling: { seed: 1, maxNewTokens: 256 } }))
 * for await (const outcome of engine.generate(requests)) if (outcome.kind === 'completed') score(outcome)
 */
export { connectSglang, connectVllm, inspectServers } from './connect.js'
export {
  defaultMaxNewTokens,
  type GenerationConfig,
  type GenerationDefaults,
  generationConfigLines,
  readGenerationConfig,
} from './generation-config.js'
export type * from './generator.js'
export { LocalEngine } from './local/engine.js'
export type { EngineCounts } from './local/engine-core.js'
export type { LocalEngineOptions } from './local/engine-options.js'
export { type DeviceMemory, deviceMemory, deviceSequences, sequencesAtOnce } from './local/kv-budget.js'
export { configuredStops, type OpenedEngine, type OpenOptions, openEngine } from './local/open.js'
export { ReplaceableWeights } from './local/replaceable-weights.js'
export { engineDtypeProblem } from './local/step-device.js'
export { type LogprobMeaning, logprobsUnder } from './logprob-meaning.js'
export { OutcomeStream, type OutcomeStreamOptions } from './outcome-stream.js'
export { tiedHeadError } from './remote/check-weights.js'
export { EngineError, EngineLostError } from './remote/errors.js'
export { type EngineEvent, eventLine, type RemoteOptions } from './remote/options.js'
export { explainedDifference } from './remote/proof-check.js'
export {
  type ResolvedSampling,
  resolveSampling,
  type SamplingParams,
  type StructuredKind,
  type StructuredOutput,
} from './sampling.js'
export { keepsTiedHead } from './vllm/probe.js'
