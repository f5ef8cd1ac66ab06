/** At which token a reward model takes its score. */
import { fieldOf, type ModelConfig } from '../decoder/index.js'
import type { Adapter } from './adapter.js'

/**
 * The padding that a reward model's score passes over, or undefined for a score at the last token whatever it is. Reward models that
 * transformers and TRL wrote are asked at the last token that is not `pad_token_id`, also where that id ends texts. A model whose
 * head is trained here is asked at the last token; its export names a padding that ends no text, so that both rules agree.
 */
export function pooledPadding({ head, raw }: ModelConfig, adapter: Adapter | undefined): number | undefined {
  const madeByPeft = adapter?.raw.peft_version !== undefined
  const id = fieldOf(raw, 'pad_token_id')
  return (head === 'score' || madeByPeft) && typeof id === 'number' ? id : undefined
}

/** The last position that is not padding; 0 where all are, as transformers has it. */
export function pooledPosition(ids: Int32Array, padding: number | undefined): number {
  let at = ids.length - 1
  if (padding !== undefined) while (at > 0 && ids[at] === padding) at--
  return at
}
