/**
 * HH-RLHF: a reward model, PPO on its scores, and DPO on the same pairs. A second reward model, which was trained on other pairs,
 * judges both. README.md has the result.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { gunzipSync } from 'node:zlib'
import { runRecipe } from '../recipe.mjs'

/** @typedef {{ role: string, content: string }} Message */
/** @typedef {{ prompt: Message[], chosen: Message[], rejected: Message[] }} Pair */

/** The messages of a dialogue "\n\nHuman: ...\n\nAssistant: ...". @param {string} text @returns {Message[]} */
function messages(text) {
  return [...text.matchAll(/\n\n(Human|Assistant):([\s\S]*?)(?=\n\n(?:Human|Assistant):|$)/g)].map(([, who, said]) => ({
    role: who === 'Human' ? 'user' : 'assistant',
    content: said.trim(),
  }))
}

/** Pairs whose dialogues differ in a last answer that is not empty. @param {string} path @returns {Pair[]} */
function readPairs(path) {
  const bytes = readFileSync(path)
  const lines = (path.endsWith('.gz') ? gunzipSync(bytes) : bytes).toString('utf8').split('\n').filter(Boolean)
  return lines.flatMap(line => {
    const row = JSON.parse(line)
    const [chosen, rejected] = [messages(row.chosen), messages(row.rejected)]
    const prompt = chosen.slice(0, -1)
    const isAnswer = (/** @type {Message[]} */ list) => list.at(-1)?.role === 'assistant' && list.at(-1)?.content !== ''
    const isPair =
      JSON.stringify(prompt) === JSON.stringify(rejected.slice(0, -1)) && isAnswer(chosen) && isAnswer(rejected)
    return isPair ? [{ prompt, chosen: chosen.slice(-1), rejected: rejected.slice(-1) }] : []
  })
}

/** @param {string} file @param {readonly unknown[]} rows */
const writeRows = (file, rows) => writeFileSync(file, rows.map(row => `${JSON.stringify(row)}\n`).join(''))

/** @param {string} name */
const config = name => new URL(name, import.meta.url)

runRecipe({
  name: 'hh-rlhf',
  model: 'HuggingFaceTB/SmolLM2-135M-Instruct',
  data: { pairs: 'harmless-base/test.jsonl.gz' },
  stages({ given: { model, pairs: file }, path, train, evaluate }) {
    const pairs = readPairs(file)
    // One pair in eight is held out; the others go to the reward model and to the judge in turn.
    const test = pairs.filter((_, i) => i % 8 === 0)
    const own = pairs.filter((_, i) => i % 2 === 1)
    const others = pairs.filter((_, i) => i % 2 === 0 && i % 8 !== 0)
    writeRows(path('train.jsonl'), own)
    writeRows(path('judge.jsonl'), others)
    writeRows(path('test.jsonl'), test)
    const prompts = (/** @type {Pair[]} */ rows) => rows.map(({ prompt }) => ({ messages: prompt }))
    writeRows(path('train-prompts.jsonl'), prompts(own))
    writeRows(path('test-prompts.jsonl'), prompts(test))

    /** @param {string} name @param {string} data */
    const rewardModel = (name, data) =>
      `${train('reward train', name, config('reward.yaml'), { model, data, validationData: path('test.jsonl') })}/final_model`
    const reward = rewardModel('reward', path('train.jsonl'))
    const judge = rewardModel('judge', path('judge.jsonl'))
    const ppo = train('rl', 'ppo', config('ppo.yaml'), {
      model,
      data: path('train-prompts.jsonl'),
      rewards: reward,
    })
    const dpo = train('dpo', 'dpo', config('dpo.yaml'), { model, data: path('train.jsonl') })

    /** @param {string} name @param {string} run */
    const compare = (name, run) => {
      const found = evaluate(name, {
        model: `${run}/final_model`,
        reference: model,
        data: path('test-prompts.jsonl'),
        reward: judge,
        metrics: 'reward,winRate',
        samples: 4,
        'max-new-tokens': 128,
      })
      return {
        wins: 100 * (found.winRate?.rate ?? Number.NaN),
        tokens: found.model.answers?.meanTokens ?? Number.NaN,
        before: found.reference?.answers?.meanTokens ?? Number.NaN,
      }
    }
    const [byPpo, byDpo] = [compare('test-ppo', ppo), compare('test-dpo', dpo)]
    return {
      'win rate of PPO, %': byPpo.wins,
      'win rate of DPO, %': byDpo.wins,
      'tokens before': byPpo.before,
      'tokens after PPO': byPpo.tokens,
      'tokens after DPO': byDpo.tokens,
    }
  },
})
