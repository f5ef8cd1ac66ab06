/** What `whetstone experience` is told by its config file and `--set`. */
import { z } from 'zod';
import { type ResolvedConfig } from '../train/index.js';
export declare const experienceFileShape: {
    rewardPatienceMinutes: z.ZodDefault<z.ZodNumber>;
    rewardWorkers: z.ZodDefault<z.ZodInt>;
    model: z.ZodString;
    adapter: z.ZodOptional<z.ZodString>;
    reference: z.ZodOptional<z.ZodString>;
    critic: z.ZodOptional<z.ZodString>;
    device: z.ZodDefault<z.ZodString>;
    prompts: z.ZodString;
    promptColumn: z.ZodOptional<z.ZodString>;
    labelColumn: z.ZodOptional<z.ZodString>;
    referenceColumn: z.ZodOptional<z.ZodString>;
    chatTemplate: z.ZodDefault<z.ZodString>;
    rewards: z.ZodString;
    output: z.ZodString;
    rolloutBatchSize: z.ZodDefault<z.ZodInt>;
    generator: z.ZodPrefault<z.ZodObject<{
        type: z.ZodDefault<z.ZodEnum<{
            local: "local";
            sglang: "sglang";
            vllm: "vllm";
        }>>;
        urls: z.ZodOptional<z.ZodArray<z.ZodString>>;
        apiKeyEnv: z.ZodOptional<z.ZodString>;
        servedModelName: z.ZodOptional<z.ZodString>;
        maxInFlight: z.ZodDefault<z.ZodInt>;
        requestMinutes: z.ZodDefault<z.ZodNumber>;
        patienceMinutes: z.ZodDefault<z.ZodNumber>;
        weights: z.ZodDefault<z.ZodEnum<{
            adapter: "adapter";
            auto: "auto";
            directory: "directory";
        }>>;
        weightsDirectory: z.ZodOptional<z.ZodString>;
        serverWeightsDirectory: z.ZodOptional<z.ZodString>;
        tolerance: z.ZodOptional<z.ZodNumber>;
        command: z.ZodOptional<z.ZodString>;
        flags: z.ZodDefault<z.ZodArray<z.ZodString>>;
    }, z.core.$strict>>;
    engineType: z.ZodOptional<z.ZodEnum<{
        local: "local";
        sglang: "sglang";
        vllm: "vllm";
    }>>;
    klController: z.ZodOptional<z.ZodDiscriminatedUnion<[z.ZodObject<{
        kind: z.ZodLiteral<"fixed">;
        coef: z.ZodDefault<z.ZodNumber>;
    }, z.core.$strict>, z.ZodObject<{
        kind: z.ZodLiteral<"adaptive">;
        coef: z.ZodDefault<z.ZodNumber>;
        target: z.ZodNumber;
        horizon: z.ZodDefault<z.ZodNumber>;
    }, z.core.$strict>], "kind">>;
};
declare const schema: z.ZodObject<{
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
    groupNormEps: z.ZodDefault<z.ZodNumber>;
    gamma: z.ZodDefault<z.ZodNumber>;
    lambd: z.ZodDefault<z.ZodNumber>;
    klEstimator: z.ZodOptional<z.ZodEnum<{
        k1: "k1";
        k2: "k2";
        k3: "k3";
    }>>;
    useKlLoss: z.ZodDefault<z.ZodBoolean>;
    overlongBuffer: z.ZodDefault<z.ZodBoolean>;
    overlongBufferLen: z.ZodDefault<z.ZodInt>;
    overlongBufferPenaltyFactor: z.ZodDefault<z.ZodNumber>;
    rewardRunningNorm: z.ZodDefault<z.ZodBoolean>;
    rewardRunningNormMinusMean: z.ZodDefault<z.ZodBoolean>;
    rewardClip: z.ZodDefault<z.ZodNumber>;
    advantagesNorm: z.ZodDefault<z.ZodBoolean>;
    advantageClip: z.ZodDefault<z.ZodNumber>;
    temperature: z.ZodDefault<z.ZodNumber>;
    topP: z.ZodDefault<z.ZodNumber>;
    topK: z.ZodDefault<z.ZodUnion<readonly [z.ZodLiteral<-1>, z.ZodInt]>>;
    maxNewTokens: z.ZodDefault<z.ZodInt>;
    minNewTokens: z.ZodDefault<z.ZodInt>;
    ignoreEos: z.ZodDefault<z.ZodBoolean>;
    stop: z.ZodDefault<z.ZodArray<z.ZodString>>;
    skipSpecialTokens: z.ZodDefault<z.ZodBoolean>;
    useFire: z.ZodDefault<z.ZodBoolean>;
    firstTokenTemperature: z.ZodDefault<z.ZodNumber>;
    seed: z.ZodDefault<z.ZodInt>;
    nSamplesPerPrompt: z.ZodDefault<z.ZodInt>;
    promptMaxLen: z.ZodOptional<z.ZodInt>;
    promptTruncation: z.ZodDefault<z.ZodEnum<{
        left: "left";
        reject: "reject";
        right: "right";
    }>>;
    microRolloutBatchSize: z.ZodDefault<z.ZodInt>;
    packingSamples: z.ZodDefault<z.ZodBoolean>;
    dynamicSampling: z.ZodDefault<z.ZodBoolean>;
    maxResampleRounds: z.ZodDefault<z.ZodInt>;
    highEntropyTokenRatio: z.ZodDefault<z.ZodNumber>;
    enableEngineSleep: z.ZodDefault<z.ZodBoolean>;
    rewardPatienceMinutes: z.ZodDefault<z.ZodNumber>;
    rewardWorkers: z.ZodDefault<z.ZodInt>;
    model: z.ZodString;
    adapter: z.ZodOptional<z.ZodString>;
    reference: z.ZodOptional<z.ZodString>;
    critic: z.ZodOptional<z.ZodString>;
    device: z.ZodDefault<z.ZodString>;
    prompts: z.ZodString;
    promptColumn: z.ZodOptional<z.ZodString>;
    labelColumn: z.ZodOptional<z.ZodString>;
    referenceColumn: z.ZodOptional<z.ZodString>;
    chatTemplate: z.ZodDefault<z.ZodString>;
    rewards: z.ZodString;
    output: z.ZodString;
    rolloutBatchSize: z.ZodDefault<z.ZodInt>;
    generator: z.ZodPrefault<z.ZodObject<{
        type: z.ZodDefault<z.ZodEnum<{
            local: "local";
            sglang: "sglang";
            vllm: "vllm";
        }>>;
        urls: z.ZodOptional<z.ZodArray<z.ZodString>>;
        apiKeyEnv: z.ZodOptional<z.ZodString>;
        servedModelName: z.ZodOptional<z.ZodString>;
        maxInFlight: z.ZodDefault<z.ZodInt>;
        requestMinutes: z.ZodDefault<z.ZodNumber>;
        patienceMinutes: z.ZodDefault<z.ZodNumber>;
        weights: z.ZodDefault<z.ZodEnum<{
            adapter: "adapter";
            auto: "auto";
            directory: "directory";
        }>>;
        weightsDirectory: z.ZodOptional<z.ZodString>;
        serverWeightsDirectory: z.ZodOptional<z.ZodString>;
        tolerance: z.ZodOptional<z.ZodNumber>;
        command: z.ZodOptional<z.ZodString>;
        flags: z.ZodDefault<z.ZodArray<z.ZodString>>;
    }, z.core.$strict>>;
    engineType: z.ZodOptional<z.ZodEnum<{
        local: "local";
        sglang: "sglang";
        vllm: "vllm";
    }>>;
    klController: z.ZodOptional<z.ZodDiscriminatedUnion<[z.ZodObject<{
        kind: z.ZodLiteral<"fixed">;
        coef: z.ZodDefault<z.ZodNumber>;
    }, z.core.$strict>, z.ZodObject<{
        kind: z.ZodLiteral<"adaptive">;
        coef: z.ZodDefault<z.ZodNumber>;
        target: z.ZodNumber;
        horizon: z.ZodDefault<z.ZodNumber>;
    }, z.core.$strict>], "kind">>;
}, z.core.$strict>;
export type ExperienceFile = z.output<typeof schema>;
export interface ExperienceSettings extends ResolvedConfig<ExperienceFile> {
}
export declare function readExperienceFile(file: string, settings: readonly string[]): Promise<ExperienceSettings>;
export {};
