/** What dialects are tried with alone: a connection without retries, and attempts with defaults. */

import { resolveSampling, type SamplingParams } from '../../src/rollout/index.js'
import type { GenerationAttempt, ServerConnection } from '../../src/rollout/remote/dialect.js'
import { toyVocabSize } from './doubles/toy-model.js'

export const connectionTo = ({ url }: { url: string }, apiKey?: string): ServerConnection => ({
  url,
  async request(method, path, { body, signal } = {}) {
    const headers = {
      'content-type': 'application/json',
      ...(apiKey === undefined ? {} : { authorization: `Bearer ${apiKey}` }),
    }
    const sent = body === undefined ? {} : { body: JSON.stringify(body) }
    const answer = await fetch(url + path, { method, headers, ...sent, ...(signal ? { signal } : {}) })
    return { status: answer.status, text: await answer.text() }
  },
})

let count = 0

export function attemptOf(
  ids: readonly number[],
  given: Partial<GenerationAttempt> & { params?: Partial<SamplingParams> } = {},
): GenerationAttempt {
  const { params = {}, ...rest } = given
  const structured = ['regex', 'json-schema', 'ebnf'] as const
  const sampling = resolveSampling(
    { seed: 1, maxNewTokens: 4, ...params },
    { vocabSize: toyVocabSize, n: 1, structured },
  )
  return {
    id: `attempt-${++count}`,
    ids: Int32Array.from(ids),
    idsJson: JSON.stringify(ids),
    maxNewTokens: sampling.maxNewTokens as number,
    minNewTokens: sampling.minNewTokens,
    temperature: sampling.temperature,
    seed: sampling.seed,
    sampling,
    adapter: undefined,
    promptLogprobs: sampling.promptLogprobs,
    transport: 'whole',
    ...rest,
  }
}
