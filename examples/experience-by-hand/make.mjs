import { readFileSync } from 'node:fs'
import { FastExperienceMaker } from 'whetstone/experience'
import { LocalModel } from 'whetstone/model'
import { sampleReward } from 'whetstone/reward'
import { LocalEngine } from 'whetstone/rollout'
import { Tokenizer } from 'whetstone/text'
import { updatePolicy } from 'whetstone/train'

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

// Two steps on the same answers. Each gives the log-probabilities before it.
const update = () => updatePolicy({ actor, experiences, objective: { loss: 'ppo' }, rates: { lr: 1e-3 } })
const [before, after] = [await update(), await update()].map(({ logprobs }) =>
  experiences.flatMap(({ advantages }, i) => [...advantages].map((advantage, t) => advantage * logprobs[i][t])),
)
const sum = values => values.reduce((total, value) => total + value, 0).toFixed(3)
console.log(`advantage-weighted log-probability ${sum(before)} -> ${sum(after)}`)
await generator.close()
actor.dispose()
