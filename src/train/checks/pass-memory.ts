/** What the passes of a model take beside what is kept: activations, gradients as they come, and work space. */
import { type DecoderConfig, type HeadLayout, type Projection, shortLength } from '../../decoder/index.js'
import { planHead } from '../../model/index.js'
import { type Device, type DType, dtypeBytes } from '../../tensor/index.js'
import type { LoraConfig } from '../config/common.js'
import { type FreezeVision, towerBytes } from './vision-memory.js'

/** Trained part of a model: all weights, an adapter, only the head, or nothing. */
export type Trained = 'weights' | 'adapter' | 'head' | 'nothing'

/** The largest batch of a step. */
interface PassSize {
  /** Tokens of a forward pass, and of its longest sequence. */
  readonly tokens: number
  readonly longest: number
  /** Default: as many as there are of the longest. */
  readonly sequences?: number
  /** Rows that are computed: less than the tokens where sequences share their beginning. Default: all tokens. */
  readonly rows?: number
  /** Tokens whose output is wanted. Default: all. */
  readonly outputs?: number
  /** Patches of images and videos in the batch, each once, and of all that a run has. Default 0, and those of the batch. */
  readonly patches?: number
  readonly images?: number
  /** Batches of a step. In the second one, all gradients exist from the beginning. Default 2. */
  readonly batches?: number
}

export interface PassModel extends PassSize {
  readonly config: DecoderConfig
  readonly head: HeadLayout
  readonly device: Device
  readonly dtype: DType
  readonly trained: Trained
  /** The adapter's shape, where one is there. */
  readonly adapter?: Pick<LoraConfig, 'rank' | 'targets'> | undefined
  readonly gradientCheckpointing: boolean
  /** Of a model with a vision tower: what of it is not trained, and the patches of one pass without gradients. */
  readonly freezeVision?: FreezeVision | undefined
  readonly patchBudget?: number | undefined
}

/** Bytes of the parts of a pass, for {@link passPeak}. */
interface PassParts {
  /** What the layers keep for the backward pass. */
  readonly saved: number
  /** Most work space of a layer's backward pass. */
  readonly layer: number
  /** Work space of the head. */
  readonly head: number
  /** Gradient of the output matrix, and of the embedding as a whole matrix. */
  readonly matrix: number
}

/** Bytes of a pass without gradients. A layer's memory is the next one's. */
export function scoringBytes(model: PassModel): number {
  const { config, dtype } = model
  const { rows } = sizeOf(model)
  const widest = 3 * config.intermediate + 4 * config.hidden
  const tower = towerBytes({ ...model, trained: 'nothing' })
  return Math.max(tower.held + Math.max(widest * rows * dtypeBytes(dtype), headBytes(model, 'scoring')), tower.alone)
}

/** Bytes that the two passes of a training take at most, and how many of them are activations and work space. */
export function trainingBytes(model: PassModel, gradients: number): { peak: number; activations: number } {
  const { trained, batches = 2 } = model
  if (trained === 'head') {
    const tower = towerBytes(model)
    const activations = Math.max(scoringBytes(model), tower.held + headBytes(model, 'training'))
    return { peak: gradients + activations, activations }
  }
  const { saved, layer, head, matrix } = passParts(model)
  const tower = towerBytes(model)
  // The tower's pass comes before the decoder's, and its backward pass after it.
  const activations = Math.max(tower.held + saved + Math.max(head, layer), tower.alone)
  // Of one batch, gradients come while activations go. Those of the output matrix come first.
  const held = batches > 1 ? gradients : 0
  const first = trained === 'weights' ? matrix : 0
  return { peak: Math.max(held + first + activations, gradients + first), activations }
}

function passParts(model: PassModel): PassParts {
  const { config, dtype, head, gradientCheckpointing, device, trained } = model
  const { hidden, layers, vocabSize } = config
  const { rows, outputs } = sizeOf(model)
  const size = dtypeBytes(dtype)
  const whole = layerBytes(model, rows)
  // The last layer of the CPU computes only what is wanted behind its attention.
  const isEarly = device === 'cpu' && !gradientCheckpointing
  const last = isEarly ? layerBytes(model, outputs) : whole
  const work = workBytes(model)
  const matrix = head === 'language' && trained === 'weights' ? vocabSize * hidden * size : 0
  const output = outputs * 2 * hidden * size
  if (gradientCheckpointing)
    return {
      saved: layers * 2 * hidden * rows * size + output,
      layer: whole + work,
      head: headBytes(model, 'training'),
      matrix,
    }
  return { saved: (layers - 1) * whole + last + output, layer: work, head: headBytes(model, 'training'), matrix }
}

/** What a layer keeps for its backward pass; `behind`: rows behind its attention. */
function layerBytes(model: PassModel, behind: number): number {
  const { config, device, adapter, trained } = model
  const { hidden, intermediate, heads, kvHeads, headDim } = config
  const { rows } = sizeOf(model)
  const queries = heads * headDim
  const projected = queries + 2 * kvHeads * headDim
  // A norm keeps what it reads, the MLP its two halves. A matrix keeps its input where the matrix or its adapter is trained.
  const keeps = (...names: readonly Projection[]): boolean =>
    trained === 'weights' || (trained === 'adapter' && names.some(name => adapter?.targets.includes(name)))
  const before =
    hidden + (keeps('q_proj', 'k_proj', 'v_proj') ? hidden : 0) + (config.qkNorm === 'none' ? 0 : projected)
  const after =
    hidden +
    (keeps('gate_proj', 'up_proj') ? hidden : 0) +
    2 * intermediate +
    (keeps('down_proj') ? intermediate : 0) +
    (device === 'cpu' && keeps('o_proj') ? queries : 0)
  const low = trained === 'adapter' ? (adapter?.targets.length ?? 0) * (adapter?.rank ?? 0) : 0
  return (rows * (before + low) + behind * after + attentionNumbers(model)) * dtypeBytes(model.dtype)
}

/** Numbers that the attention of a layer keeps. */
function attentionNumbers(model: PassModel): number {
  const { device, longest } = model
  const { heads, kvHeads, headDim } = model.config
  const { rows, cells } = sizeOf(model)
  const [queries, keys] = [heads * headDim, kvHeads * headDim]
  // The kernels of a GPU take sequences as they lie, and keep what they read and give.
  if (device !== 'cpu') return rows * (2 * queries + 2 * keys)
  // Short sequences use plain matrix products, which keep the weights of every pair; longer ones repeat shared keys.
  if (isShort(model)) return cells * (queries + 2 * keys + heads * longest)
  return cells * (2 * queries + keys + (kvHeads === heads ? keys : 2 * queries))
}

const isShort = ({ device, dtype, longest }: PassModel): boolean =>
  device === 'cpu' && dtype === 'float32' && longest <= shortLength

/** Most work space of the backward pass of a layer: of its MLP, or of its attention. */
function workBytes(model: PassModel): number {
  const { config, longest } = model
  const { hidden, intermediate, heads, headDim } = config
  const { rows, cells } = sizeOf(model)
  const mlp = rows * (3 * intermediate + 4 * hidden)
  const pairs = isShort(model) ? 2 * heads * longest : 0
  const attention = cells * (4 * heads * headDim + pairs) + rows * 2 * hidden
  return Math.max(mlp, attention) * dtypeBytes(model.dtype)
}

/** Logits exist a chunk at a time: on the CPU twice at most, and small ones are kept; a GPU writes gradients over them. */
function headBytes(model: PassModel, pass: 'training' | 'scoring'): number {
  const { config, head, device, dtype } = model
  if (head === 'score') return 0
  const { outputs } = sizeOf(model)
  const wanted = { scaled: false, trainWeight: true, entropy: false, training: pass === 'training', device }
  const { keep, rowsPerChunk } = planHead(outputs, config.vocabSize, wanted)
  const perRow = config.vocabSize * (device === 'cpu' ? 4 : dtypeBytes(dtype))
  const chunk = Math.min(outputs, rowsPerChunk) * perRow
  return keep ? outputs * perRow + chunk : device === 'cpu' ? 2 * chunk : chunk
}

/** `cells`: rows of a grid of sequences of unequal length, over which attention spreads them on the CPU. */
function sizeOf(model: PassModel): { rows: number; cells: number; outputs: number } {
  const { tokens, longest, rows = tokens, outputs = tokens } = model
  const { sequences = Math.ceil(tokens / Math.max(1, longest)) } = model
  return { rows, cells: model.device === 'cpu' ? sequences * longest : rows, outputs }
}
