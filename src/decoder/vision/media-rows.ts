/** Images and videos in the decoder: rows of the tower in place of placeholders, and rope by three positions. */
import { embedding, type Tensor } from '../../tensor/index.js'
import type { VisionConfig } from './config.js'

/** Rows of a tower, and the rows of the batch that they replace, int64. */
export interface MediaRows {
  at: Tensor
  features: Tensor
  /** What is added to the same rows after each of the first layers. */
  deep: readonly Tensor[]
}

/** The embeddings of `ids`. Those of placeholders are the tower's: nothing of the table is read or trained there. */
export function embedRows(table: Tensor, ids: Tensor, media: MediaRows | undefined): Tensor {
  const rows = embedding(table, ids)
  return media ? rows.indexCopy_(0, media.at, media.features) : rows
}

export function addDeepRows(residual: Tensor, { at, deep }: MediaRows, layer: number): Tensor {
  return residual.clone().indexAdd_(0, at, deep[layer]!.typeAs(residual))
}

/** For each pair of a head, its column where the rotations by time, height and width stand side by side. */
export function ropeColumns({ sections, interleaved }: Pick<VisionConfig, 'sections' | 'interleaved'>): Int32Array {
  const [time, height, width] = sections
  const pairs = time + height + width
  const axis = (j: number): number => {
    if (!interleaved) return j < time ? 0 : j < time + height ? 1 : 2
    if (j % 3 === 1 && j < 3 * height) return 1
    return j % 3 === 2 && j < 3 * width ? 2 : 0
  }
  return Int32Array.from({ length: pairs }, (_, j) => axis(j) * pairs + j)
}

/**
 * Rows of a table of rotations for rows with three positions, `[3 * rows]`, axis after axis. Equal positions give the rows that text
 * has.
 */
export function mixedRotations(table: Tensor, positions: Tensor, columns: Tensor): Tensor {
  const sideBySide = table.indexSelect(0, positions).unflatten(0, [3, -1]).transpose(0, 1).flatten(1)
  return sideBySide.indexSelect(1, columns)
}
