import type { ConversationExample, ExampleSet } from '../../data/index.js';
import type { TokenModel } from '../../model/index.js';
import type { EpochTraining } from '../epoch-training.js';
export interface SftLoopOptions {
    readonly model: TokenModel<'language'>;
    readonly training: EpochTraining<ConversationExample>;
    readonly validation: ExampleSet<ConversationExample> | undefined;
    readonly packing: 'on' | 'off';
    readonly signal: AbortSignal;
}
/** Supervised fine-tuning: the log-probabilities of the trained tokens go up. */
export declare function sftLoop({ model, training, validation, packing, signal }: SftLoopOptions): Promise<void>;
/** The loss over all trained tokens of the validation data, and the perplexity that it is the logarithm of. */
export declare function evaluateSft(options: {
    model: TokenModel<'language'>;
    validation: ExampleSet<ConversationExample>;
    packing: 'on' | 'off';
    signal: AbortSignal;
}): Promise<{
    'loss/validation': number;
    'validation/perplexity': number;
}>;
