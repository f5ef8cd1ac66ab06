/** Prompts as they come to prompts as a model reads them: encoded once, cut or refused where they are too long. */
import type { RewardMedia, RewardRow } from '../reward/index.js';
import { type ChatMessage, type Tokenizer } from '../text/index.js';
import type { ExperienceConfig } from './config.js';
/** A text (a user's turn where there is a chat template), a conversation for the assistant to answer, or token ids. */
export type Prompt = string | readonly ChatMessage[] | Int32Array;
/** What belongs to prompts, each list as long as they are many. */
export interface PromptColumns<Row = RewardRow> {
    /** Names in the stream of random numbers. Default: the call's number and the prompt's. */
    readonly ids?: readonly string[];
    readonly references?: readonly (string | readonly string[] | undefined)[];
    readonly labels?: readonly (string | undefined)[];
    readonly rows?: readonly Row[];
    readonly images?: readonly (readonly RewardMedia[] | undefined)[];
    readonly videos?: readonly (readonly RewardMedia[] | undefined)[];
}
/** One prompt with all that belongs to it: what `morePrompts` gives. */
export interface PromptRow<Row = RewardRow> {
    readonly prompt: Prompt;
    readonly id?: string;
    readonly reference?: string | readonly string[] | undefined;
    readonly label?: string | undefined;
    readonly row?: Row;
    readonly images?: readonly RewardMedia[] | undefined;
    readonly videos?: readonly RewardMedia[] | undefined;
}
export interface EncodedPrompt {
    readonly group: string;
    readonly ids: Int32Array;
    readonly messages: readonly ChatMessage[] | undefined;
    readonly label: string | undefined;
    readonly reference: string | readonly string[] | undefined;
    readonly row: RewardRow;
    /** Tokens that it would have more, had it not been cut. */
    readonly cutTokens: number;
    /** Longer than it may be, and not to be cut, or not that far. */
    readonly tooLong: boolean;
}
/** Lists side by side as rows; lists of another length than the prompts are an error that names them. */
export declare function promptRows<Row>(prompts: readonly Prompt[], columns: PromptColumns<Row>): PromptRow<Row>[];
interface EncodeOptions extends Pick<ExperienceConfig, 'promptTruncation' | 'chatTemplate'> {
    tokenizer: Tokenizer;
    /** Tokens a prompt may have. */
    limit: number;
    group: string;
}
export declare function encodePrompt(row: PromptRow, options: EncodeOptions): Promise<EncodedPrompt>;
export {};
