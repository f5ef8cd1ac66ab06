import { promptSequence, type Sequence, withSampled } from '../../src/sequence/index.js'

/** A prompt and its answer, as an engine's sample has them. */
export function answered<Row = Record<string, unknown>>(
  prompt: Int32Array,
  response: Int32Array,
  { promptId = '0', row = {} as Row }: { promptId?: string; row?: Row } = {},
): Sequence<Row> {
  return withSampled(promptSequence({ ids: prompt, promptId, row }), response)
}
