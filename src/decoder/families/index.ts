/** The families there are. A new one is a file beside these, a line here, and its fixtures. */
import type { FamilyDescriptor } from './family.js'
import { llama } from './llama.js'
import { mistral } from './mistral.js'
import { olmo2 } from './olmo2.js'
import { qwen2 } from './qwen2.js'
import { qwen3 } from './qwen3.js'
import { smollm3 } from './smollm3.js'

const descriptors = { llama, mistral, olmo2, qwen2, qwen3, smollm3 } as const satisfies Record<string, FamilyDescriptor>

export type Family = keyof typeof descriptors

export const families = Object.keys(descriptors) as readonly Family[]

export const familyOf = (family: Family): FamilyDescriptor => descriptors[family]
