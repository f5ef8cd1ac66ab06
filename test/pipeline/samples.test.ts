/** Answers that are written down. */
import { afterEach, expect, test, vi } from 'vitest'
import { generateSamples } from '../../src/pipeline/samples.js'
import { LocalEngine, type Outcome } from '../../src/rollout/index.js'
import { base } from '../support/pipeline.js'

afterEach(() => vi.restoreAllMocks())

test('an answer that a stop cut short is none', async () => {
  const stop = new AbortController()
  const reason = new Error('Ctrl-C')
  const real = LocalEngine.prototype.generate
  const generate = vi.spyOn(LocalEngine.prototype, 'generate').mockImplementation(async function* (
    this: LocalEngine,
    requests,
    options,
  ): AsyncGenerator<Outcome, undefined> {
    const answers = real.call(this, requests, options)
    stop.abort(reason)
    yield* answers
    return undefined
  })
  const options = {
    chatTemplate: 'auto',
    device: 'cpu',
    maxNewTokens: 16,
    temperature: 0,
    seed: 0,
    signal: stop.signal,
  }
  await expect(generateSamples(base, ['1 + 1?', '2 + 1?'], options)).rejects.toBe(reason)
  expect(generate).toHaveBeenCalledOnce()
})
