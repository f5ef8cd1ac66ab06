/** What a config asks of an engine, checked before the engine is opened where its names say enough. */
import { InputError } from '../../errors/index.js'
import { importanceProblems } from '../../maths/index.js'
import { type Generator, logprobsUnder, resolveSampling } from '../../rollout/index.js'
import type { RlConfig } from './config.js'

/** Refuses options that a generator cannot do. Those of ours are known from their names, before they are opened. */
export function checkCapabilities(
  { structured, maxStaleness }: Pick<RlConfig, 'structured' | 'maxStaleness'>,
  { capabilities }: Pick<Generator, 'capabilities'>,
): void {
  const { structured: kinds, weights } = capabilities
  if (structured !== undefined && !kinds.includes(structured.kind))
    throw new InputError(
      `structured: the generator does not support ${structured.kind}; it supports ${kinds.join(', ') || 'no structured output'}`,
    )
  if (maxStaleness > 0 && weights.includes('shared'))
    throw new InputError('maxStaleness: needs servers; this generator always samples from the weights in training')
}

/** Importance weights from two kinds of probabilities would be noise: refuse such a run. */
export function checkImportance(config: RlConfig, generator: Pick<Generator, 'capabilities' | 'vocabSize'>): void {
  if (config.tisCap === undefined) return
  const { seed, maxNewTokens, temperature, topP, topK } = config
  const sampling = resolveSampling({ seed, maxNewTokens, temperature, topP, topK }, { ...generator, n: 1 })
  const problems = importanceProblems({ ...config, logprobs: logprobsUnder(generator.capabilities.logprobs, sampling) })
  if (problems.length > 0)
    throw new InputError(problems.join('\n'), {
      remedy:
        'Start vLLM with --logprobs-mode processed_logprobs, as `whetstone engine start` does; or sample at temperature 1.',
    })
}
