/** The families there are. A new one is a file beside these, a line here, and its fixtures. */
import type { FamilyDescriptor } from './family.js'
import { llama } from './llama.js'
import { mistral } from './mistral.js'
import { olmo2 } from './olmo2.js'
import { qwen2 } from './qwen2.js'
import { qwen25Vl } from './qwen2-5-vl.js'
import { qwen2Vl } from './qwen2-vl.js'
import { qwen3 } from './qwen3.js'
import { qwen3Vl } from './qwen3-vl.js'
import { smollm3 } from './smollm3.js'

const textDescriptors = { llama, mistral, olmo2, qwen2, qwen3, smollm3 } as const satisfies Record<
  string,
  FamilyDescriptor
>
const descriptors = {
  ...textDescriptors,
  qwen2_vl: qwen2Vl,
  qwen2_5_vl: qwen25Vl,
  qwen3_vl: qwen3Vl,
} as const satisfies Record<string, FamilyDescriptor>

/** A family of models that read only text. */
export type TextFamily = keyof typeof textDescriptors
export type Family = keyof typeof descriptors

/** Families that a new model can be made of. */
export const families = Object.keys(textDescriptors) as readonly TextFamily[]
/** And those with a vision tower. */
export const allFamilies = Object.keys(descriptors) as readonly Family[]

export const familyOf = (family: Family): FamilyDescriptor => descriptors[family]
