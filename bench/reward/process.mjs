// What a call of a reward file costs in its process, beside the same function in this one.   node bench/reward/process.mjs
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { loadRewards, RewardComputationEngine, sampleReward, textRewardInput } from 'whetstone/reward'

const samples = 1024
const text = 'The quick brown fox jumps over the lazy dog. '.repeat(20)
const inputs = Array.from({ length: samples }, (_, sample) => ({
  ...textRewardInput({ prompt: text, response: text, row: { answer: '42' }, sample }),
  promptIds: new Int32Array(250),
  responseIds: new Int32Array(250),
}))

const folder = mkdtempSync(join(tmpdir(), 'whetstone-bench-reward-'))
const file = join(folder, 'reward.mjs')
writeFileSync(file, 'export default ({ response }) => response.length\n')

/**
 * @param {RewardComputationEngine} engine
 * @returns {Promise<number>} milliseconds of a call, the best of several rounds
 */
async function measure(engine) {
  let best = Number.POSITIVE_INFINITY
  for (let round = 0; round < 7; round++) {
    const started = performance.now()
    await engine.compute(inputs)
    best = Math.min(best, (performance.now() - started) / samples)
  }
  await engine.close()
  return best
}

const here = await measure(
  new RewardComputationEngine({ sources: [sampleReward(({ response }) => response.length, { name: 'here' })] }),
)
const started = performance.now()
const engine = await loadRewards(file)
const start = performance.now() - started
const apart = await measure(engine)
const shared = await measure(await loadRewards(file, { workers: 4 }))
rmSync(folder, { recursive: true })

/** @param {number} ms */
const show = ms => `${(1000 * ms).toFixed(0)} us`
console.log(`${samples} samples of 250 + 250 tokens, one a call`)
console.log(`in this process        ${show(here)} a call`)
console.log(`in a process of its own ${show(apart)} a call, ${start.toFixed(0)} ms to start`)
console.log(`in four                ${show(shared)} a call`)
