/** Pixels to the rows that a tower reads. */
import { callOperator, type NumberLike, type Tensor } from '../../tensor/index.js'
import type { VisionConfig } from './config.js'

/**
 * Cuts `frames`, uint8 `[frames, height * width * 3]` with as many frames as the grid has, into patches `[patches, numbers]`, in
 * float32. A patch has its channels, in each its frames, in each its rows of pixels. `mean` and `std` are `[3, 1]`, of pixels from
 * 0 to 255; `height` and `width` count tokens.
 */
export function cutPatches(
  frames: Tensor,
  { mean, std }: { mean: Tensor; std: Tensor },
  { height, width }: { height: NumberLike; width: NumberLike },
  { patch, temporalPatch, merge }: Pick<VisionConfig, 'patch' | 'temporalPatch' | 'merge'>,
): Tensor {
  const cells = frames.view([-1, temporalPatch, height, merge, patch, width, merge, patch, 3])
  const rows = cells.permute([0, 2, 5, 3, 6, 8, 1, 4, 7]).reshape([-1, 3, temporalPatch * patch * patch])
  return rows.toCopy({ dtype: 'float32' }).sub(mean).div(std).flatten(1)
}

/**
 * The same numbers on the CPU, in one pass on all threads. `frames` may have fewer frames than the grid of `time` steps: the last one
 * counts for the rest.
 */
export function cutPatchesOnCpu(
  frames: Tensor,
  { mean, std }: { mean: Tensor; std: Tensor },
  { time, height, width }: { time: NumberLike; height: NumberLike; width: NumberLike },
  { patch, temporalPatch, merge }: Pick<VisionConfig, 'patch' | 'temporalPatch' | 'merge'>,
): Tensor {
  const sizes = [time, height, width, patch, temporalPatch, merge]
  return callOperator('whetstone::cut_patches', frames, mean, std, ...sizes) as Tensor
}
