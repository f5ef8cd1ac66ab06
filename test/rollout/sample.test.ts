import { expect, test } from 'vitest'
import { RequestState, SequenceState } from '../../src/rollout/local/request-state.js'
import { resolveSampling } from '../../src/rollout/sampling.js'

test('what cannot be drawn comes in the order of its ids, each once', () => {
  const params = { seed: 1, maxNewTokens: 4, minNewTokens: 2, stopIds: [8, 40], forbiddenIds: [30, 8, 5, 30] }
  const sampling = resolveSampling(params, { vocabSize: 100, n: 1 })
  const request = { id: 'a', promptIds: Int32Array.of(1, 2), sampling: params }
  const listener = { onOutcome: () => undefined }
  const requestState = new RequestState(request, request.promptIds, sampling, { eosIds: [2] }, listener)
  const sample = new SequenceState(requestState, 0, 4)
  const forbidden = Array.from({ length: 3 }, () => {
    const ids = [...sample.samplingRow().forbidden]
    sample.append(7, 0, 0, undefined, 0)
    return ids
  })
  expect(forbidden).toEqual([
    [2, 5, 8, 30, 40],
    [2, 5, 8, 30, 40],
    [5, 8, 30],
  ])
})
