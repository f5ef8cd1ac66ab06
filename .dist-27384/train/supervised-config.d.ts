/** What trainings on a dataset's rows share in their configs. */
import { z } from 'zod';
import { type OptimizerConfig } from './config/common.js';
export declare const supervisedShape: {
    validationData: z.ZodOptional<z.ZodUnion<readonly [z.ZodString, z.ZodObject<{
        path: z.ZodString;
        weight: z.ZodOptional<z.ZodNumber>;
        columns: z.ZodOptional<z.ZodRecord<z.ZodString, z.ZodString>>;
    }, z.core.$strict>, z.ZodArray<z.ZodUnion<readonly [z.ZodString, z.ZodObject<{
        path: z.ZodString;
        weight: z.ZodOptional<z.ZodNumber>;
        columns: z.ZodOptional<z.ZodRecord<z.ZodString, z.ZodString>>;
    }, z.core.$strict>]>>]>>;
    validationShare: z.ZodDefault<z.ZodNumber>;
    maxLength: z.ZodOptional<z.ZodInt>;
    overlong: z.ZodOptional<z.ZodEnum<{
        drop: "drop";
        truncate: "truncate";
    }>>;
    promptTemplate: z.ZodOptional<z.ZodString>;
    systemPrompt: z.ZodOptional<z.ZodString>;
    chatTemplate: z.ZodDefault<z.ZodString>;
    maxBadRows: z.ZodDefault<z.ZodInt>;
    shuffle: z.ZodDefault<z.ZodBoolean>;
    model: z.ZodString;
    device: z.ZodDefault<z.ZodString>;
    dtype: z.ZodOptional<z.ZodEnum<{
        bfloat16: "bfloat16";
        float16: "float16";
        float32: "float32";
    }>>;
    residualDtype: z.ZodOptional<z.ZodLiteral<"float32">>;
    lora: z.ZodOptional<z.ZodObject<{
        rank: z.ZodDefault<z.ZodInt>;
        alpha: z.ZodDefault<z.ZodNumber>;
        dropout: z.ZodDefault<z.ZodNumber>;
        targets: z.ZodDefault<z.ZodArray<z.ZodEnum<{
            down_proj: "down_proj";
            gate_proj: "gate_proj";
            k_proj: "k_proj";
            o_proj: "o_proj";
            q_proj: "q_proj";
            up_proj: "up_proj";
            v_proj: "v_proj";
        }>>>;
    }, z.core.$strict>>;
    adapter: z.ZodOptional<z.ZodString>;
    gradientCheckpointing: z.ZodDefault<z.ZodBoolean>;
    tokenBudget: z.ZodOptional<z.ZodInt>;
    output: z.ZodString;
    seed: z.ZodDefault<z.ZodInt>;
    maxSteps: z.ZodOptional<z.ZodInt>;
    saveSteps: z.ZodDefault<z.ZodInt>;
    keepCheckpoints: z.ZodDefault<z.ZodInt>;
    epochs: z.ZodDefault<z.ZodInt>;
    batchSize: z.ZodDefault<z.ZodInt>;
    evalSteps: z.ZodOptional<z.ZodInt>;
    data: z.ZodUnion<readonly [z.ZodString, z.ZodObject<{
        path: z.ZodString;
        weight: z.ZodOptional<z.ZodNumber>;
        columns: z.ZodOptional<z.ZodRecord<z.ZodString, z.ZodString>>;
    }, z.core.$strict>, z.ZodArray<z.ZodUnion<readonly [z.ZodString, z.ZodObject<{
        path: z.ZodString;
        weight: z.ZodOptional<z.ZodNumber>;
        columns: z.ZodOptional<z.ZodRecord<z.ZodString, z.ZodString>>;
    }, z.core.$strict>]>>]>;
};
/** Options that name files or directories; those in a config file are relative to it. */
export declare const supervisedPaths: readonly string[];
/** Values of path options that are no paths. */
export declare const supervisedWords: readonly string[];
declare const supervisedSchema: z.ZodObject<{
    validationData: z.ZodOptional<z.ZodUnion<readonly [z.ZodString, z.ZodObject<{
        path: z.ZodString;
        weight: z.ZodOptional<z.ZodNumber>;
        columns: z.ZodOptional<z.ZodRecord<z.ZodString, z.ZodString>>;
    }, z.core.$strict>, z.ZodArray<z.ZodUnion<readonly [z.ZodString, z.ZodObject<{
        path: z.ZodString;
        weight: z.ZodOptional<z.ZodNumber>;
        columns: z.ZodOptional<z.ZodRecord<z.ZodString, z.ZodString>>;
    }, z.core.$strict>]>>]>>;
    validationShare: z.ZodDefault<z.ZodNumber>;
    maxLength: z.ZodOptional<z.ZodInt>;
    overlong: z.ZodOptional<z.ZodEnum<{
        drop: "drop";
        truncate: "truncate";
    }>>;
    promptTemplate: z.ZodOptional<z.ZodString>;
    systemPrompt: z.ZodOptional<z.ZodString>;
    chatTemplate: z.ZodDefault<z.ZodString>;
    maxBadRows: z.ZodDefault<z.ZodInt>;
    shuffle: z.ZodDefault<z.ZodBoolean>;
    model: z.ZodString;
    device: z.ZodDefault<z.ZodString>;
    dtype: z.ZodOptional<z.ZodEnum<{
        bfloat16: "bfloat16";
        float16: "float16";
        float32: "float32";
    }>>;
    residualDtype: z.ZodOptional<z.ZodLiteral<"float32">>;
    lora: z.ZodOptional<z.ZodObject<{
        rank: z.ZodDefault<z.ZodInt>;
        alpha: z.ZodDefault<z.ZodNumber>;
        dropout: z.ZodDefault<z.ZodNumber>;
        targets: z.ZodDefault<z.ZodArray<z.ZodEnum<{
            down_proj: "down_proj";
            gate_proj: "gate_proj";
            k_proj: "k_proj";
            o_proj: "o_proj";
            q_proj: "q_proj";
            up_proj: "up_proj";
            v_proj: "v_proj";
        }>>>;
    }, z.core.$strict>>;
    adapter: z.ZodOptional<z.ZodString>;
    gradientCheckpointing: z.ZodDefault<z.ZodBoolean>;
    tokenBudget: z.ZodOptional<z.ZodInt>;
    output: z.ZodString;
    seed: z.ZodDefault<z.ZodInt>;
    maxSteps: z.ZodOptional<z.ZodInt>;
    saveSteps: z.ZodDefault<z.ZodInt>;
    keepCheckpoints: z.ZodDefault<z.ZodInt>;
    epochs: z.ZodDefault<z.ZodInt>;
    batchSize: z.ZodDefault<z.ZodInt>;
    evalSteps: z.ZodOptional<z.ZodInt>;
    data: z.ZodUnion<readonly [z.ZodString, z.ZodObject<{
        path: z.ZodString;
        weight: z.ZodOptional<z.ZodNumber>;
        columns: z.ZodOptional<z.ZodRecord<z.ZodString, z.ZodString>>;
    }, z.core.$strict>, z.ZodArray<z.ZodUnion<readonly [z.ZodString, z.ZodObject<{
        path: z.ZodString;
        weight: z.ZodOptional<z.ZodNumber>;
        columns: z.ZodOptional<z.ZodRecord<z.ZodString, z.ZodString>>;
    }, z.core.$strict>]>>]>;
}, z.core.$strip>;
export type SupervisedConfig = z.output<typeof supervisedSchema> & {
    readonly optimizer: OptimizerConfig;
};
/** Options that say two things at once. */
export declare function refuseContradictions(config: {
    lora?: unknown;
    adapter?: unknown;
    freezeBackbone?: boolean;
}, context: z.RefinementCtx): void;
/**
 * Options that a resumed run may have otherwise. How many steps there are changes the rate of each where a schedule is spread
 * over them.
 */
export declare function harmlessFor({ schedule, warmupSteps, warmupRatio }: OptimizerConfig): readonly string[];
export {};
