/** What a model reads: bare token ids, or a sequence that says which of its tokens are trained. */
import { asRead, type MediaItem, type Sequence } from '../sequence/index.js'
import type { Role, ScoreOptions } from './outputs.js'
import { pooledPosition } from './pooling.js'

/** Of a sequence, outputs and gradients have one number per trained token; of bare ids, one for each of the tokens `from..n`. */
export type ModelInput = Int32Array | Sequence

export function idsOf(input: ModelInput): Int32Array {
  return input instanceof Int32Array ? input : input.ids
}

/** What the model computes of each input: no row for a token that is not read. */
export function readInputs(inputs: readonly ModelInput[]): readonly ModelInput[] {
  return inputs.map(input => (input instanceof Int32Array ? input : asRead(input)))
}

export function mediaOf(input: ModelInput): readonly MediaItem[] {
  return input instanceof Int32Array ? [] : input.media
}

/** The positions of an input that a pass computes outputs of, and those of them that the caller gets. */
export interface Wanted {
  start: number
  end: number
  /** Offsets from `start`, in order. Left out: all. */
  kept?: Int32Array
}

/** How many numbers of an input the caller gets. */
export function keptCount({ start, end, kept }: Wanted): number {
  return kept?.length ?? end - start
}

/**
 * The positions whose output is wanted: those before each trained token, or the one that a reward model is asked at. Outputs are
 * computed from the first trained token on; holes after it are left out of what the caller gets.
 */
export function wantedPositions(
  role: Role,
  inputs: readonly ModelInput[],
  { from, padding }: Pick<ScoreOptions, 'from'> & { padding: number | undefined },
): (i: number) => Wanted {
  if (role === 'reward')
    return i => {
      const start = pooledPosition(idsOf(inputs[i]!), padding)
      return { start, end: start + 1 }
    }
  return i => {
    const input = inputs[i]!
    const { length } = idsOf(input)
    if (!(input instanceof Int32Array)) return trainedPositions(input, i, from)
    const first = (typeof from === 'number' ? from : from?.[i]) ?? 1
    if (!Number.isInteger(first) || first < 1 || first > length)
      throw new RangeError(`from[${i}] should be between 1 and ${length}, got ${first}`)
    return { start: first - 1, end: length - 1 }
  }
}

function trainedPositions({ ids, trained }: Sequence, i: number, from: ScoreOptions['from']): Wanted {
  if (from !== undefined)
    throw new RangeError(`sequence ${i} already has its trained tokens; remove \`from\`, it is only for bare ids`)
  const first = trained.indexOf(1)
  if (first === -1) throw new RangeError(`sequence ${i} has no trained token`)
  if (first === 0) throw new RangeError(`the first token of sequence ${i} is trained, and no token comes before it`)
  const range = { start: first - 1, end: ids.length - 1 }
  if (!trained.includes(0, first)) return range
  const kept: number[] = []
  for (let t = first; t < ids.length; t++) if (trained[t] === 1) kept.push(t - first)
  return { ...range, kept: Int32Array.from(kept) }
}
