import type { Tokenizer } from '../text/index.js';
import { type LimitOptions, type RewardSource } from './source.js';
/** What is needed of a model: one score per sequence. A `TokenModel` with the role `reward` is one. */
export interface RewardScorer {
    /** Tokens a sequence may have. */
    readonly maxLength?: number;
    score(sequences: readonly Int32Array[], options?: {
        signal?: AbortSignal;
    }): Promise<readonly {
        readonly score: number;
    }[]>;
}
export interface ModelRewardOptions extends LimitOptions {
    readonly name: string;
    readonly model: RewardScorer;
    /** The reward model's own, with its chat template. */
    readonly tokenizer: Tokenizer;
    /** The policy's: where both have the same `tokenizer.json` the model gets the ids the policy sampled, exactly. */
    readonly policyTokenizer?: Tokenizer;
    /** Tokens in one call of the model. A single longer sequence is a call of its own. Default 32768. */
    readonly batchTokens?: number;
    /** Longer sequences are failures of their samples. Default: the model's own limit. */
    readonly maxLength?: number;
}
/**
 * A local reward model as a source.
 *
 * @example
 * const model = await LocalModel.load('models/rm', { role: 'reward' })
 * const quality = modelReward({ name: 'quality', model, tokenizer: await Tokenizer.load('models/rm'), policyTokenizer })
 */
export declare function modelReward(options: ModelRewardOptions): RewardSource;
