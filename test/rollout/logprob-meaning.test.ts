import { expect, test } from 'vitest'
import { type LogprobMeaning, logprobsUnder, resolveSampling, type SamplingParams } from '../../src/rollout/index.js'

const under = (meaning: LogprobMeaning, given: Partial<SamplingParams>): string =>
  logprobsUnder(
    [meaning],
    resolveSampling(
      { seed: 1, maxNewTokens: 1, ...given },
      { vocabSize: 10, n: 1, structured: ['regex', 'json-schema', 'ebnf'] },
    ),
  ).join()

test.each<[Partial<SamplingParams>, raw: string, scaled: string, processed: string]>([
  [{}, 'raw,processed', 'raw,processed', 'raw,processed'],
  [{ temperature: 0 }, 'raw,processed', 'raw,processed', 'raw,processed'],
  [{ temperature: 0.7 }, 'raw', 'processed', 'processed'],
  [{ firstTemperature: 10 }, 'raw', 'processed', 'processed'],
  [{ topP: 0.9 }, 'raw', 'raw', 'processed'],
  [{ temperature: 0.7, topK: 5 }, 'raw', '', 'processed'],
  [{ minP: 0.1 }, 'raw', 'raw', 'processed'],
  [{ forbiddenIds: [3] }, 'raw', 'processed', 'processed'],
  [{ minNewTokens: 2 }, 'raw', 'processed', 'processed'],
  [{ structured: { kind: 'regex', pattern: 'a+' } }, 'raw', 'processed', 'processed'],
])('what raw, scaled and processed log-probabilities are under %j', (sampling, raw, scaled, processed) => {
  expect([under('raw', sampling), under('scaled', sampling), under('processed', sampling)]).toEqual([
    raw,
    scaled,
    processed,
  ])
})
