/** What the vision tower of a model takes beside its decoder. */
import {
  type DecoderConfig,
  isMergerWeight,
  isVisionWeight,
  parameterCount,
  type VisionConfig,
  weightMap,
} from '../../decoder/index.js'
import { dtypeBytes } from '../../tensor/index.js'
import type { PassModel } from './pass-memory.js'

/** What is frozen of the tower: its blocks, its merger, or both. */
export type FreezeVision = 'tower' | 'merger' | 'all'

interface TrainedVision {
  readonly blocks: boolean
  readonly mergers: boolean
}

function trainedVision({ trained, freezeVision }: Pick<PassModel, 'trained' | 'freezeVision'>): TrainedVision {
  const frozen = trained !== 'weights' || freezeVision === 'all'
  return {
    blocks: !frozen && freezeVision !== 'tower',
    mergers: !frozen && freezeVision !== 'merger',
  }
}

/** Numbers of the tower that are not trained although the decoder's are. */
export function frozenVision(
  config: DecoderConfig,
  model: Pick<PassModel, 'trained' | 'freezeVision' | 'head'>,
): number {
  if (!config.vision || model.trained !== 'weights') return 0
  const { blocks, mergers } = trainedVision(model)
  return parameterCount(
    weightMap(config, model.head).filter(
      ({ name }) => isVisionWeight(name) && !(isMergerWeight(name) ? mergers : blocks),
    ),
  )
}

interface TowerMemory {
  /** What lives while the decoder computes: activations of a trained tower, rows of the decoder, and what is kept of images. */
  readonly held: number
  /** Most of a pass of the tower itself: it comes before the decoder's passes, or after them. */
  readonly alone: number
}

/** Bytes of the tower of a batch with these patches. */
export function towerBytes(model: PassModel): TowerMemory {
  const { config, patches = 0, images = patches, trained, gradientCheckpointing } = model
  const { vision } = config
  if (!vision || patches === 0) return { held: 0, alone: 0 }
  const size = dtypeBytes(model.dtype)
  const { blocks, mergers } = trainedVision(model)
  const tokens = patches / vision.merge ** 2
  // The rows of a batch, and for the layers that get more of them.
  const rows = tokens * vision.out * (1 + vision.deepstack.length)
  const block = blockNumbers(vision)
  if (trained === 'weights' && blocks) {
    const { depth } = vision
    const each = gradientCheckpointing ? vision.width : block.saved
    const saved = patches * (pixelsOf(vision) + depth * each) + mergerNumbers(vision) * tokens
    // A block that is computed again has its own activations, and they go while the work comes.
    const work = patches * (gradientCheckpointing ? block.saved + 4 * vision.width : block.work)
    const held = (saved + rows) * size
    return { held, alone: held + work * size }
  }
  // What no gradient goes through is kept for samples and epochs, up to a bound.
  const level = mergers ? vision.width * vision.merge ** 2 * (1 + vision.deepstack.length) : rows / tokens
  const kept = Math.min(2 ** 30, (images / vision.merge ** 2) * level * size)
  const merged = mergers ? mergerNumbers(vision) * tokens + tokens * level : 0
  const computed = Math.min(patches, model.patchBudget ?? patches)
  return {
    held: kept + (merged + rows) * size,
    alone: kept + computed * (pixelsOf(vision) + block.work) * size,
  }
}

const pixelsOf = ({ patch, temporalPatch }: VisionConfig): number => 3 * temporalPatch * patch * patch

/** Numbers of a patch in one block: what its backward pass keeps, and the work space of either pass. */
function blockNumbers({ width, intermediate, tableSide }: VisionConfig): { saved: number; work: number } {
  // Norms and projections keep what they read, attention its queries, keys, values and result. Gates and quick GELU keep three of the MLP's
  // rows, the GELU of towers with a table of positions two.
  const mlp = (tableSide === undefined ? 3 : 2) * intermediate
  return { saved: 9 * width + mlp, work: Math.max(4 * width + mlp, 8 * width) }
}

/** Numbers of a token that the mergers keep. */
function mergerNumbers({ width, merge, deepstack }: VisionConfig): number {
  const wide = width * merge ** 2
  return 3 * wide * (1 + deepstack.length)
}
