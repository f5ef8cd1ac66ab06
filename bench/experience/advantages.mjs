/**
 * Seconds from raw rewards to advantages over a million tokens, for every estimator, with all steps switched on. Run after
 * `npm run build`; `--check` ends with exit code 1 where one takes longer than promised.
 */
import { parseArgs } from 'node:util'
import { advantageEstimators, deriveAdvantages } from 'whetstone/experience'
import { time } from '../harness.mjs'

const promised = 0.3
const samplesPerPrompt = 8

/** Ragged responses of 1 to 1023 tokens, until they have a million together. */
function rollout() {
  const samples = []
  for (let tokens = 0, i = 0; tokens < 1e6 || i % samplesPerPrompt > 0; i++) {
    const length = 1 + ((i * 389) % 1023)
    /** @param {number} shift */
    const numbers = shift => Float32Array.from({ length }, (_, t) => -1 - Math.abs(Math.sin(i + t + shift)))
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

const { check } = parseArgs({ options: { check: { type: 'boolean' } } }).values
const samples = rollout()
const options = {
  klEstimator: /** @type {const} */ ('k3'),
  klCoef: 0.1,
  rewardRunningNorm: true,
  rewardClip: 2,
  advantagesNorm: true,
  advantageClip: 2,
}
const { tokens } = deriveAdvantages({ samples, options }).info
console.log(
  `${tokens.toLocaleString('en')} tokens of ${samples.length.toLocaleString('en')} responses; promised: under ${promised} s`,
)
let slow = 0
for (const advantageEstimator of advantageEstimators) {
  const seconds = await time(() => deriveAdvantages({ samples, options: { ...options, advantageEstimator } }), 0.5)
  if (seconds >= promised) slow++
  console.log(`  ${advantageEstimator.padEnd(20)} ${seconds.toFixed(3)} s${seconds < promised ? '' : '  too slow'}`)
}
if (check && slow > 0) process.exitCode = 1
