/** What each stage is told: the same configs that `whetstone sft`, `reward train` and `rl` read, kept beside what they make. */
import type { RawConfig } from '../train/index.js';
import type { DemoSettings } from './settings.js';
/** In the order they run; `control` is GRPO for a reward that is the same for every answer. */
export declare const stages: readonly ['sft', 'reward', 'ppo', 'grpo', 'control'];
export type Stage = (typeof stages)[number];
/** The model that a stage ends with, in its run directory. */
export declare const modelOf: (stage: Stage) => string;
/** Rewards by file, next to the configs. */
export declare const rewardFiles: Readonly<Record<string, string>>;
/** Tokens of an answer: the digits, the end, and one to spare. */
export declare const maxNewTokens = 6;
export declare function stageConfigs(settings: DemoSettings, seed: number): Readonly<Record<Stage, RawConfig>>;
