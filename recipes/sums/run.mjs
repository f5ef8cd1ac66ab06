/** GRPO with LoRA on two CPU cores: SmolLM2-135M-Instruct learns to add two numbers. README.md has the result. */
import { writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { runRecipe } from '../recipe.mjs'

/** The same questions every time. @param {number} count @param {number} seed */
function questions(count, seed) {
  let state = seed
  const number = () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return 10 + Math.floor((state / 2 ** 32) * 90)
  }
  return Array.from({ length: count }, () => {
    const [a, b] = [number(), number()]
    return { prompt: `What is ${a} + ${b}? Reply with the number alone.`, target: `${a + b}` }
  })
}

runRecipe({
  name: 'sums',
  model: 'HuggingFaceTB/SmolLM2-135M-Instruct',
  data: {},
  stages({ given: { model }, path, train, evaluate }) {
    for (const [name, rows] of Object.entries({ train: questions(2000, 1), test: questions(300, 2) }))
      writeFileSync(path(`${name}.jsonl`), rows.map(row => `${JSON.stringify(row)}\n`).join(''))
    const reward = fileURLToPath(new URL('reward.ts', import.meta.url))
    /** @param {string} name @param {string} model */
    const accuracy = (name, model) => {
      const { accuracy } = evaluate(name, {
        model,
        data: path('test.jsonl'),
        reward,
        metrics: 'accuracy',
        'max-new-tokens': 16,
      }).model
      return 100 * (accuracy?.value ?? Number.NaN)
    }
    const before = accuracy('test-before', model)
    const grpo = train('rl', 'grpo', new URL('grpo.yaml', import.meta.url), { model, data: path('train.jsonl') })
    return { 'right before, %': before, 'right after GRPO, %': accuracy('test-grpo', `${grpo}/final_model`) }
  },
})
