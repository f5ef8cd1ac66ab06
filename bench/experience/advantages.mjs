/** From raw rewards to advantages over a million tokens, with all steps switched on. */
import { advantageEstimators, deriveAdvantages } from 'whetstone/maths'
import { inTurns } from '../harness.mjs'

const samplesPerPrompt = 8

/** Ragged responses of 1 to 1023 tokens, until they have a million together. */
function rollout() {
  const samples = []
  for (let tokens = 0, i = 0; tokens < 1e6 || i % samplesPerPrompt > 0; i++) {
    const length = 1 + ((i * 389) % 1023)
    const numbers = (/** @type {number} */ shift) =>
      Float32Array.from({ length }, (_, t) => -1 - Math.abs(Math.sin(i + t + shift)))
    const prompt = Math.floor(i / samplesPerPrompt)
    samples.push({
      group: prompt,
      reward: Math.sin(i),
      length,
      logprobs: numbers(0),
      refLogprobs: numbers(1),
      values: numbers(2),
    })
    tokens += length
  }
  return samples
}

/** Seconds of each estimator, by its name, and over how many tokens. */
export async function timeAdvantages() {
  const samples = rollout()
  const options = /** @type {const} */ ({
    klEstimator: 'k3',
    klCoef: 0.1,
    rewardRunningNorm: true,
    rewardClip: 2,
    advantagesNorm: true,
    advantageClip: 2,
  })
  const { tokens } = deriveAdvantages({ samples, options }).info
  const columns = Object.fromEntries(
    advantageEstimators.map(advantageEstimator => [
      advantageEstimator,
      async () => {
        const start = performance.now()
        deriveAdvantages({ samples, options: { ...options, advantageEstimator } })
        return (performance.now() - start) / 1e3
      },
    ]),
  )
  return { tokens, seconds: await inTurns(columns, 5) }
}
