import { qwen25VlVision } from '../vision/qwen2-5-vl.js'
import type { FamilyDescriptor } from './family.js'
import { qwen2 } from './qwen2.js'

/** Qwen2.5-VL: Qwen2 with a vision tower. */
export const qwen25Vl = {
  ...qwen2,
  modelType: 'qwen2_5_vl',
  className: 'Qwen2_5_VL',
  vision: qwen25VlVision,
} as const satisfies FamilyDescriptor
