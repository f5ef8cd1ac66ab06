/** Which token of a sequence a reward model is asked at. */
import type { ModelConfig } from '../decoder/index.js';
import type { Adapter } from './adapter.js';
import { type Sequence } from './sequence.js';
/**
 * The padding that a reward model's score passes over, or undefined for a score at the last token whatever it is. Reward models that
 * transformers and TRL wrote are asked at the last token that is not `pad_token_id`, also where that id ends texts. A model whose
 * head is trained here is asked at the last token; its export names a padding that ends no text, so that both rules agree.
 */
export declare function pooledPadding({ head, raw }: ModelConfig, adapter: Adapter | undefined): number | undefined;
/** The last position that is not padding; 0 where all are, as transformers has it. */
export declare function pooledPosition(sequence: Sequence, padding: number | undefined): number;
