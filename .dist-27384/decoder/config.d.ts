import { type Family } from './families/index.js';
interface Llama3Scaling {
    factor: number;
    lowFreqFactor: number;
    highFreqFactor: number;
    originalContext: number;
}
/** What the decoder needs to know. */
export interface DecoderConfig {
    family: Family;
    vocabSize: number;
    hidden: number;
    intermediate: number;
    layers: number;
    heads: number;
    kvHeads: number;
    headDim: number;
    context: number;
    normEps: number;
    ropeTheta: number;
    ropeScaling: Llama3Scaling | undefined;
    /** Query, key and value projections have a bias. */
    qkvBias: boolean;
    /** The attention's output projection has a bias. */
    outputBias: boolean;
    /** How queries and keys are normalised: each head by itself, or all heads of a row together. */
    qkNorm: 'none' | 'head' | 'projection';
    /** Where a layer's norms stand: in front of attention and MLP, or behind them, on what they add. */
    norms: 'before' | 'after';
    /** The layers whose queries and keys are rotated by position. */
    ropeLayers: 'all' | readonly boolean[];
    tiedEmbeddings: boolean;
    initRange: number;
}
/** What the weights end in: next-token logits, or one number per token (`score.weight`). */
export type HeadLayout = 'language' | 'score';
export interface ModelConfig {
    decoder: DecoderConfig;
    head: HeadLayout;
    /** The file as it was, for writing it again. */
    raw: Raw;
}
type Raw = Readonly<Record<string, unknown>>;
export declare function architectureName(family: Family, head: HeadLayout): string;
/** Reads a parsed `config.json`; `file` is named in errors. */
export declare function parseConfig(raw: Raw, file: string): ModelConfig;
/** Reads the `config.json` of a model directory. */
export declare function readConfig(directory: string): Promise<ModelConfig>;
export {};
