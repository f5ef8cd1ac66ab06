import { expect, test } from 'vitest'
import { Job, Sample } from '../../src/rollout/local/sample.js'
import { resolveSampling } from '../../src/rollout/sampling.js'

test('what cannot be drawn comes in the order of its ids, each once', () => {
  const params = { seed: 1, maxNewTokens: 4, minNewTokens: 2, stopIds: [8, 40], forbiddenIds: [30, 8, 5, 30] }
  const sampling = resolveSampling(params, { vocabSize: 100, n: 1 })
  const request = { id: 'a', promptIds: Int32Array.of(1, 2), sampling: params }
  const job = new Job(request, request.promptIds, sampling, [2], { onOutcome: () => undefined })
  const sample = new Sample(job, 0, 4)
  const banned = Array.from({ length: 3 }, () => {
    const ids = [...sample.draw().banned]
    sample.append(7, 0, 0, undefined, 0)
    return ids
  })
  expect(banned).toEqual([
    [2, 5, 8, 30, 40],
    [2, 5, 8, 30, 40],
    [5, 8, 30],
  ])
})
