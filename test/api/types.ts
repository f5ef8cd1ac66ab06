/** What the compiler has to accept and to refuse of the functions of the package: checked with the types of all tests, and never run. */
import type { z } from 'zod'
import type { experienceSchema } from '../../src/api/index.js'
import type { ExperienceInput } from '../../src/api/options.generated.js'
import { grpo, pipeline, ppo, rl, sft } from '../../src/index.js'
import type { PipelineOptions, pipelineSchema } from '../../src/pipeline/index.js'
import type { preferenceSchema, rewardModelSchema, rlSchema, sftSchema, TrainingInputs } from '../../src/train/index.js'

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
  // A handler may name the type of its error, as that of a promise.
  sft({ model, data: rows }).catch((error: Error) => error.message)
  // Names, functions and sources in one list.
  grpo({ model, data: rows, rewards: ['numeric-answer', ({ row }) => row.letter.length] })
  // @ts-expect-error rows have no such column
  grpo({ model, data: rows, rewards: ['numeric-answer', ({ row }) => row.letters.length] })
  // @ts-expect-error a reward is a number
  grpo({ model, data: rows, rewards: () => 'good' })
  // @ts-expect-error a preset's name
  rl({ algorithm: 'grop', model, data: rows, rewards: () => 1 })
  // @ts-expect-error rewards are missing
  rl({ model, data: rows })
  // Every option of data takes rows, files and sources.
  pipeline({ baseModel: model, sftDataPath: rows, rewardDataPath: streamed(), ppoDataPath: [{ path: 'a.jsonl' }] })
  // @ts-expect-error a number
  sft({ model, data: rows, epochs: 'three' })
}

/** What options are to the compiler is what their schemas say, comments apart. */
type Same<A, B> = [A, B] extends [B, A] ? true : false
const same = <T extends true>(): T => true as T
export const generated = [
  same<Same<TrainingInputs['sft'], z.input<typeof sftSchema>>>(),
  same<Same<TrainingInputs['reward'], z.input<typeof rewardModelSchema>>>(),
  same<Same<TrainingInputs['preference'], z.input<typeof preferenceSchema>>>(),
  same<Same<TrainingInputs['rl'], z.input<typeof rlSchema>>>(),
  same<Same<PipelineOptions, z.input<typeof pipelineSchema>>>(),
  same<Same<ExperienceInput, z.input<typeof experienceSchema>>>(),
  // @ts-expect-error an option that is optional is not the same as one that is not
  same<Same<{ a?: 1 }, { a: 1 }>>(),
]
