import { qwen3VlVision } from '../vision/qwen3-vl.js'
import type { FamilyDescriptor } from './family.js'
import { qwen3 } from './qwen3.js'

/** Qwen3-VL: Qwen3 with a vision tower. */
export const qwen3Vl = {
  ...qwen3,
  modelType: 'qwen3_vl',
  className: 'Qwen3VL',
  vision: qwen3VlVision,
} as const satisfies FamilyDescriptor
