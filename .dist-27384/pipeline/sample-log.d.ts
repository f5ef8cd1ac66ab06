import { type TextPrompt, type Tokenizer } from '../text/index.js';
import type { CheckedStage } from './check-stages.js';
import type { PipelineConfig } from './config.js';
export declare class SampleLog {
    private readonly config;
    private readonly prompts;
    constructor(config: PipelineConfig, prompts: readonly TextPrompt[]);
    /** With the prompts of the config, or those that were taken from the last stage's data when the pipeline began. */
    static open(config: PipelineConfig, checked: readonly CheckedStage[], signal: AbortSignal): Promise<SampleLog>;
    /** Writes what a model answers, with scores where a reward model is there to give them. */
    keep(name: string, model: string, { rewardModel, signal }: {
        rewardModel: string | undefined;
        signal: AbortSignal;
    }): Promise<void>;
}
/** A text as the data of the last stage would have it. */
export declare function promptFor(text: string, tokenizer: Tokenizer, config: PipelineConfig): TextPrompt;
/** The chat template of the last stage. */
export declare function templateOf({ ppo, chatTemplate }: PipelineConfig): string;
/** Tokens of an answer: as in the last stage, within what the model takes. */
export declare function answerLength({ ppo }: PipelineConfig, model: string): Promise<number>;
/** Where the reward model runs, while it is trained and while it scores. */
export declare function rewardDevice({ reward, device }: PipelineConfig): string;
