/** What sets one estimator apart from another: options, the command line and the formulas all read the one list below. */
interface EstimatorTraits {
    /** How a sample's reward is compared with those of the same prompt. */
    readonly shaping: 'none' | 'leave-one-out' | 'mean' | 'standardize';
    /** Whether a critic's values are needed. */
    readonly values: 'needed' | 'unused';
    /** Whether the discount is the option's, or always 1. */
    readonly gamma: 'option' | 'one';
}
declare const estimators: {
    readonly gae: {
        readonly shaping: 'none';
        readonly values: 'needed';
        readonly gamma: 'option';
    };
    readonly rloo: {
        readonly shaping: 'leave-one-out';
        readonly values: 'unused';
        readonly gamma: 'option';
    };
    readonly reinforce: {
        readonly shaping: 'none';
        readonly values: 'unused';
        readonly gamma: 'option';
    };
    readonly reinforce_baseline: {
        readonly shaping: 'mean';
        readonly values: 'unused';
        readonly gamma: 'one';
    };
    readonly dr_grpo: {
        readonly shaping: 'mean';
        readonly values: 'unused';
        readonly gamma: 'option';
    };
    readonly group_norm: {
        readonly shaping: 'standardize';
        readonly values: 'unused';
        readonly gamma: 'option';
    };
    /** Another name of group_norm: the same numbers in every step. */
    readonly grpo: {
        readonly shaping: 'standardize';
        readonly values: 'unused';
        readonly gamma: 'option';
    };
    readonly cpgd: {
        readonly shaping: 'standardize';
        readonly values: 'unused';
        readonly gamma: 'option';
    };
};
export type AdvantageEstimator = keyof typeof estimators;
export declare const advantageEstimators: [AdvantageEstimator, ...AdvantageEstimator[]];
export declare function estimatorTraits(estimator: AdvantageEstimator): EstimatorTraits;
/** Whether a sample is compared with others of its prompt, so that a prompt needs several. */
export declare function isGroupEstimator(estimator: AdvantageEstimator): boolean;
/** Names that others use for an estimator with certain options, answered where an estimator's name is expected. */
export declare const estimatorHints: Readonly<Record<string, string>>;
export {};
