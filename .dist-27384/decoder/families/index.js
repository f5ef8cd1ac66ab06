import { llama } from './llama.js';
import { mistral } from './mistral.js';
import { olmo2 } from './olmo2.js';
import { qwen2 } from './qwen2.js';
import { qwen3 } from './qwen3.js';
import { smollm3 } from './smollm3.js';
const descriptors = { llama, mistral, olmo2, qwen2, qwen3, smollm3 };
export const families = Object.keys(descriptors);
export const familyOf = (family) => descriptors[family];
//# sourceMappingURL=index.js.map