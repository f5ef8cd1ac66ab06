import type { Compared } from './bleu.js';
export interface Rouge {
    readonly precision: number;
    readonly recall: number;
    readonly fmeasure: number;
}
/**
 * By the longest common subsequence of words; of several references, the one of highest F-measure. Words are runs of a to z and 0 to 9
 * in lower case, as in rouge-score. Where rouge-score sees no words there are more: in scripts without spaces (Chinese, Japanese, Thai)
 * each character is one, in other scripts (Cyrillic, Arabic, Korean) each run of letters.
 *
 * @example
 * const { fmeasure } = rougeL({ hypothesis: 'the cat sat', references: ['the cat sat down'] })
 */
export declare function rougeL({ hypothesis, references }: Compared): Rouge;
/** The mean over texts. */
export declare function meanRougeL(corpus: readonly Compared[]): Rouge;
