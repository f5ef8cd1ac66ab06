import type { Tokenizer } from '../text/index.js';
import type { RewardFn, RewardFnLabelMap } from './aggregator.js';
import { type CustomRewardFunc } from './function-source.js';
import { type ModelRewardOptions } from './model-source.js';
import { type RewardRecipe } from './recipe.js';
import type { RewardSource } from './source.js';
import type { QueueEvents } from './source-queue.js';
/** A reward model with its tokenizer; its name comes from where it stands. */
export type RewardModel = Omit<ModelRewardOptions, 'name' | 'policyTokenizer'>;
export interface RewardEngineOptions extends QueueEvents {
    /** Sources made by `sampleReward`, `defineReward`, `modelReward`, `remoteReward`, a rule, or anything else that is one. */
    readonly sources?: readonly RewardSource[];
    /** Local reward models: one, a list, or by name. */
    readonly rewardModel?: RewardModel | readonly RewardModel[] | Readonly<Record<string, RewardModel>>;
    /** The policy's tokenizer: reward models with the same one get the ids it sampled. */
    readonly tokenizer?: Tokenizer;
    /** Remote reward models in LightRFT's dialect (http, https) or KServe's (grpc, grpcs): one, a list of different ones, or by name. */
    readonly remoteRmUrl?: string | readonly string[] | Readonly<Record<string, string>>;
    /** LightRFT's `(queries, prompts, labels)`. */
    readonly customRewardFunc?: CustomRewardFunc;
    /** LightRFT's aggregator: makes one reward of what the sources say, or of the samples alone. */
    readonly rewardFn?: RewardFn;
    /** Names of the sources by their place: reward models, then remote ones, then `customRewardFunc`, then `sources`. */
    readonly rewardFnLabelMap?: RewardFnLabelMap;
    /** By a sample's label, which sources its reward is made of. */
    readonly rewardRecipe?: RewardRecipe;
    /** For every sample: the weight of each source. */
    readonly weights?: Readonly<Record<string, number>>;
    /**
     * `drop` (default): a sample whose reward failed is a failed outcome. `retry`: its failed sources are asked again first,
     * `failureRetries` times. `stop`: the first failure ends it all.
     */
    readonly onRewardFailure?: 'drop' | 'stop' | 'retry';
    /** Default 2. */
    readonly failureRetries?: number;
    /**
     * How long a remote source that does not answer is waited for, before what it is asked for fails. Default 0: not at all; `rl` and
     * `experience` wait 10 minutes unless they are told otherwise.
     */
    readonly patienceMinutes?: number;
    /** A source that holds the event loop longer in one call is reported. Default 50. */
    readonly blockedMs?: number;
}
/** How rewards of sources become one. */
export type Combination = {
    readonly kind: 'weights';
    readonly weights: ReadonlyMap<string, number>;
} | {
    readonly kind: 'recipe';
    readonly recipe: RewardRecipe;
} | {
    readonly kind: 'aggregator';
    readonly rewardFn: RewardFn;
    readonly labelMap: RewardFnLabelMap;
    readonly recipe: RewardRecipe | undefined;
};
export interface ResolvedRewards {
    readonly sources: readonly RewardSource[];
    readonly combination: Combination;
    readonly onRewardFailure: 'drop' | 'stop' | 'retry';
    readonly failureRetries: number;
    readonly patienceMinutes: number;
    readonly blockedMs: number;
}
/** The options there are, for whoever takes them among others. */
export declare const rewardOptionNames: (keyof RewardEngineOptions)[];
export declare function resolveRewards(options: RewardEngineOptions): ResolvedRewards;
