/** SmolLM2-135M-Instruct on GSM8K: supervised fine-tuning, then GRPO. README.md has the result. */
import { fileURLToPath } from 'node:url'
import { runRecipe } from '../recipe.mjs'

/** @param {string} name */
const file = name => new URL(name, import.meta.url)

runRecipe({
  name: 'gsm8k',
  model: 'HuggingFaceTB/SmolLM2-135M-Instruct',
  data: { train: 'openai/gsm8k:main/train', test: 'openai/gsm8k:main/test' },
  stages({ given: { model, train: questions, test }, train, evaluate }) {
    /** @param {string} name @param {string} model */
    const accuracy = (name, model) => {
      const { accuracy } = evaluate(name, {
        model,
        data: test,
        columns: 'prompt=question,target=answer',
        'prompt-template': '{prompt}\nThink step by step, and end with #### and the number.',
        reward: fileURLToPath(file('rewards.yaml')),
        metrics: 'accuracy',
      }).model
      return 100 * (accuracy?.value ?? Number.NaN)
    }
    const before = accuracy('test-before', model)
    const sft = train('sft', 'sft', file('sft.yaml'), { model, 'data.path': questions })
    const afterSft = accuracy('test-sft', `${sft}/final_model`)
    const grpo = train('rl', 'grpo', file('grpo.yaml'), { model: `${sft}/final_model`, 'data.path': questions })
    const afterGrpo = accuracy('test-grpo', `${grpo}/best_model`)
    return { 'right before, %': before, 'right after SFT, %': afterSft, 'right after GRPO, %': afterGrpo }
  },
})
