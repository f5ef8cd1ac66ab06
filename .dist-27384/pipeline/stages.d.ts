import { type PipelineConfig } from './config.js';
/** `ppo` is the last stage, whatever its algorithm. */
export declare const stageNames: readonly ['sft', 'reward', 'ppo'];
export type StageName = (typeof stageNames)[number];
/** The run directory of a stage. The last one's has the name of its algorithm. */
export declare function stageDirectory({ saveDir, algorithm }: PipelineConfig, stage: StageName): string;
/** The model that a stage is there for. */
export declare function stageModel(config: PipelineConfig, stage: StageName): string;
/** What the later stages read, which is a given model where the config names one. */
export declare function givenOrMade(config: PipelineConfig, stage: 'sft' | 'reward'): string;
/** Whether the last stage scores answers by the reward model. */
export declare function usesRewardModel({ algorithm, ppo }: PipelineConfig): boolean;
/** The stages that a whole pipeline has: those whose model is not given, and a reward model only where one is used. */
export declare function wholePipeline(config: PipelineConfig): StageName[];
