/** Rows of a test as the examples that a training gets. */
import type { ExampleKind, Examples, OpenDatasetOptions } from '../../src/data/index.js'
import { firstTrained, type Sequence } from '../../src/sequence/index.js'
import { type dataFolder, epochOf, tokenizer } from './data.js'

export const decode = ({ ids }: Sequence): Promise<string> => tokenizer.decode(ids)
export const promptOf = (sequence: Sequence): Int32Array => sequence.ids.subarray(0, firstTrained(sequence))
export const answerOf = (sequence: Sequence): Promise<string> =>
  tokenizer.decode(sequence.ids.subarray(firstTrained(sequence)))

/** A conversation as ChatML has it. */
export const chat = '<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\nYo<|im_end|>'

type ExampleOptions = Partial<OpenDatasetOptions> & { columns?: Record<string, string> }

/** Gives a function that gives the examples of rows, in their order. */
export function exampleReader({ jsonl, open }: ReturnType<typeof dataFolder>) {
  let count = 0
  return async <K extends ExampleKind>(
    kind: K,
    rows: readonly unknown[],
    { columns, ...options }: ExampleOptions = {},
  ): Promise<Examples[K][]> => {
    const path = jsonl(`${count++}.jsonl`, rows)
    const dataset = await open(kind, columns ? { path, columns } : path, { shuffle: false, ...options })
    return epochOf(dataset.train(tokenizer))
  }
}

/** What is trained of a conversation, with `|` between what is not next to each other. */
export async function trained({ sequence: { ids, trained } }: Examples['conversations']): Promise<string> {
  const runs: number[][] = []
  for (const [i, id] of ids.entries()) {
    if (trained[i] === 0) continue
    if (trained[i - 1] === 1) runs.at(-1)!.push(id)
    else runs.push([id])
  }
  return (await Promise.all(runs.map(run => tokenizer.decode(run)))).join('|')
}
