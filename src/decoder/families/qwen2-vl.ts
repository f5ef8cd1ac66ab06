import { qwen2VlVision } from '../vision/qwen2-vl.js'
import type { FamilyDescriptor } from './family.js'
import { qwen2 } from './qwen2.js'

/** Qwen2-VL: Qwen2 with a vision tower. */
export const qwen2Vl = {
  ...qwen2,
  modelType: 'qwen2_vl',
  className: 'Qwen2VL',
  vision: qwen2VlVision,
} as const satisfies FamilyDescriptor
