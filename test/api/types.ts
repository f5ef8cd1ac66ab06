/** What the compiler has to accept and to refuse of the functions of the package: checked with the types of all tests, and never run. */
import { grpo, ppo, rl, sft } from '../../src/index.js'

const model = 'model'
const rows = [{ prompt: 'a', letter: 'a' }]

export function types(): void {
  // `row` has the type of the rows.
  grpo({ model, data: rows, rewards: ({ row }) => (row.letter.length === 1 ? 1 : 0) })
  // @ts-expect-error rows have no such column
  grpo({ model, data: rows, rewards: ({ row }) => row.letters.length })
  // Rows of a file have any column, of any type.
  grpo({ model, data: 'rows.jsonl', rewards: ({ row }) => (row.letter === 'a' ? 1 : 0) })
  async function* streamed() {
    yield { prompt: 'a', answer: 1 }
  }
  ppo({ model, data: streamed(), rewards: async ({ row }) => row.answer })
  // @ts-expect-error a reward is a number
  grpo({ model, data: rows, rewards: () => 'good' })
  // @ts-expect-error a preset's name
  rl({ algorithm: 'grop', model, data: rows, rewards: () => 1 })
  // @ts-expect-error rewards are missing
  rl({ model, data: rows })
  // @ts-expect-error a number
  sft({ model, data: rows, epochs: 'three' })
}
