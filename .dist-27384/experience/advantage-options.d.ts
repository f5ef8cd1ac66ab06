import { z } from 'zod';
/**
 * The options between raw rewards and advantages. The descriptions are the help of the command line and the table of the docs;
 * a larger config takes the fields over with `...advantageOptionsShape` and {@link advantageOptionProblems}.
 */
export declare const advantageOptionsShape: {
    advantageEstimator: z.ZodDefault<z.ZodEnum<{
        cpgd: "cpgd";
        dr_grpo: "dr_grpo";
        gae: "gae";
        group_norm: "group_norm";
        grpo: "grpo";
        reinforce: "reinforce";
        reinforce_baseline: "reinforce_baseline";
        rloo: "rloo";
    }>>;
    nSamplesPerPrompt: z.ZodOptional<z.ZodInt>;
    groupNormEps: z.ZodDefault<z.ZodNumber>;
    gamma: z.ZodDefault<z.ZodNumber>;
    lambd: z.ZodDefault<z.ZodNumber>;
    klCoef: z.ZodOptional<z.ZodNumber>;
    klEstimator: z.ZodOptional<z.ZodEnum<{
        k1: "k1";
        k2: "k2";
        k3: "k3";
    }>>;
    useKlLoss: z.ZodDefault<z.ZodBoolean>;
    overlongBuffer: z.ZodDefault<z.ZodBoolean>;
    overlongBufferLen: z.ZodDefault<z.ZodInt>;
    overlongBufferPenaltyFactor: z.ZodDefault<z.ZodNumber>;
    maxNewTokens: z.ZodOptional<z.ZodInt>;
    rewardRunningNorm: z.ZodDefault<z.ZodBoolean>;
    rewardRunningNormMinusMean: z.ZodDefault<z.ZodBoolean>;
    rewardClip: z.ZodDefault<z.ZodNumber>;
    advantagesNorm: z.ZodDefault<z.ZodBoolean>;
    advantageClip: z.ZodDefault<z.ZodNumber>;
};
declare const plainSchema: z.ZodObject<{
    advantageEstimator: z.ZodDefault<z.ZodEnum<{
        cpgd: "cpgd";
        dr_grpo: "dr_grpo";
        gae: "gae";
        group_norm: "group_norm";
        grpo: "grpo";
        reinforce: "reinforce";
        reinforce_baseline: "reinforce_baseline";
        rloo: "rloo";
    }>>;
    nSamplesPerPrompt: z.ZodOptional<z.ZodInt>;
    groupNormEps: z.ZodDefault<z.ZodNumber>;
    gamma: z.ZodDefault<z.ZodNumber>;
    lambd: z.ZodDefault<z.ZodNumber>;
    klCoef: z.ZodOptional<z.ZodNumber>;
    klEstimator: z.ZodOptional<z.ZodEnum<{
        k1: "k1";
        k2: "k2";
        k3: "k3";
    }>>;
    useKlLoss: z.ZodDefault<z.ZodBoolean>;
    overlongBuffer: z.ZodDefault<z.ZodBoolean>;
    overlongBufferLen: z.ZodDefault<z.ZodInt>;
    overlongBufferPenaltyFactor: z.ZodDefault<z.ZodNumber>;
    maxNewTokens: z.ZodOptional<z.ZodInt>;
    rewardRunningNorm: z.ZodDefault<z.ZodBoolean>;
    rewardRunningNormMinusMean: z.ZodDefault<z.ZodBoolean>;
    rewardClip: z.ZodDefault<z.ZodNumber>;
    advantagesNorm: z.ZodDefault<z.ZodBoolean>;
    advantageClip: z.ZodDefault<z.ZodNumber>;
}, z.core.$strict>;
/** As a user writes them: every field may be left out. */
export type AdvantageOptions = z.input<typeof plainSchema>;
/** With every default in its place. */
export type ResolvedAdvantageOptions = z.output<typeof plainSchema>;
/** What does not go together, whichever config the options are part of. */
export declare function advantageOptionProblems(options: ResolvedAdvantageOptions): {
    option: keyof AdvantageOptions;
    message: string;
}[];
/** What is allowed and probably not meant. */
export declare function advantageOptionWarnings({ advantageEstimator, gamma }: ResolvedAdvantageOptions): string[];
export declare const advantageOptionsSchema: z.ZodObject<{
    advantageEstimator: z.ZodDefault<z.ZodEnum<{
        cpgd: "cpgd";
        dr_grpo: "dr_grpo";
        gae: "gae";
        group_norm: "group_norm";
        grpo: "grpo";
        reinforce: "reinforce";
        reinforce_baseline: "reinforce_baseline";
        rloo: "rloo";
    }>>;
    nSamplesPerPrompt: z.ZodOptional<z.ZodInt>;
    groupNormEps: z.ZodDefault<z.ZodNumber>;
    gamma: z.ZodDefault<z.ZodNumber>;
    lambd: z.ZodDefault<z.ZodNumber>;
    klCoef: z.ZodOptional<z.ZodNumber>;
    klEstimator: z.ZodOptional<z.ZodEnum<{
        k1: "k1";
        k2: "k2";
        k3: "k3";
    }>>;
    useKlLoss: z.ZodDefault<z.ZodBoolean>;
    overlongBuffer: z.ZodDefault<z.ZodBoolean>;
    overlongBufferLen: z.ZodDefault<z.ZodInt>;
    overlongBufferPenaltyFactor: z.ZodDefault<z.ZodNumber>;
    maxNewTokens: z.ZodOptional<z.ZodInt>;
    rewardRunningNorm: z.ZodDefault<z.ZodBoolean>;
    rewardRunningNormMinusMean: z.ZodDefault<z.ZodBoolean>;
    rewardClip: z.ZodDefault<z.ZodNumber>;
    advantagesNorm: z.ZodDefault<z.ZodBoolean>;
    advantageClip: z.ZodDefault<z.ZodNumber>;
}, z.core.$strict>;
/** Fills in defaults; options that cannot be are a `ZodError` that names each. */
export declare function resolveAdvantageOptions(options: AdvantageOptions): ResolvedAdvantageOptions;
/** The part of a larger config that concerns advantages. */
export declare function pickAdvantageOptions(config: ResolvedAdvantageOptions): ResolvedAdvantageOptions;
export {};
