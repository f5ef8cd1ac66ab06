import { readFileSync } from 'node:fs'
import { FastExperienceMaker } from 'whetstone/experience'
import { LocalModel } from 'whetstone/model'
import { sampleReward } from 'whetstone/reward'
import { LocalEngine } from 'whetstone/rollout'
import { Tokenizer } from 'whetstone/text'

const file = name => readFileSync(new URL(name, import.meta.url), 'utf8')
const config = JSON.parse(file('config.json'))
const prompts = file('prompts.jsonl')
  .trim()
  .split('\n')
  .map(line => JSON.parse(line).prompt)
const [directory] = process.argv.slice(2)
if (directory === undefined) throw new Error('usage: node make.mjs MODEL_DIRECTORY')

const tokenizer = await Tokenizer.load(directory)
const actor = await LocalModel.load(directory, { role: 'language' })
const generator = new LocalEngine(actor, { tokenizer })
const share = ({ response }) => [...response].filter(letter => letter === 'e').length / Math.max(1, response.length)
const maker = new FastExperienceMaker({
  actor,
  tokenizer,
  generator,
  sources: [sampleReward(share, { name: 'share of e' })],
  ...config,
})

const { experiences, info } = await maker.makeExperienceList(prompts)
for (const { response, reward, advantages } of experiences)
  console.log(reward.toFixed(3), advantages[0].toFixed(3).padStart(7), JSON.stringify(response))
console.log(`reward ${info.reward.mean.toFixed(4)}`)

// One step: the gradient of -advantage * log-probability is -advantage.
const sequences = experiences.map(({ sequence }) => sequence)
const tokens = experiences.reduce((sum, { advantages }) => sum + advantages.length, 0)
const objective = async () => {
  const scored = await actor.score(sequences)
  return scored.reduce(
    (sum, { logprobs }, i) => sum + logprobs.reduce((a, b, t) => a + b * experiences[i].advantages[t], 0),
    0,
  )
}
const before = await objective()
const gradient = ({ advantages }) => ({ logprobs: Float32Array.from(advantages, advantage => -advantage / tokens) })
await actor.forwardBackward(sequences, (_, indices) => indices.map(i => gradient(experiences[i])))
await actor.step({ lr: 1e-3 })
console.log(`advantage-weighted log-probability ${before.toFixed(3)} -> ${(await objective()).toFixed(3)}`)
await generator.close()
actor.dispose()
