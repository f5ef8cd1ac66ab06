/**
 * From hidden states to log-probabilities and entropies, in chunks over rows: the logits of one chunk exist at a time, so
 * memory grows with rows times hidden size, not with rows times vocabulary. The backward pass makes the logits again,
 * unless all of them together are small enough to keep.
 */
import type { FusedOps, LogprobOps } from '../kernels/index.js';
import { type Device, type NumberLike, type Tensor } from '../tensor/index.js';
export interface HeadPlan {
    chunks: number;
    rowsPerChunk: number;
    /** Keep the log-softmax of every chunk for the backward pass. */
    keep: boolean;
    /** Logits are divided by a temperature. */
    scaled: boolean;
    /** The output matrix is trained. */
    trainWeight: boolean;
    /** Entropies are wanted too. */
    entropy: boolean;
}
export declare function planHead(rows: number, vocabSize: number, options: Pick<HeadPlan, 'scaled' | 'trainWeight' | 'entropy'> & {
    training: boolean;
    device: Device;
}): HeadPlan;
/** A plan's name: programs are recorded once for each. */
export declare function planKey({ chunks, keep, scaled, trainWeight, entropy }: HeadPlan): string;
/** Log-probabilities and, where the plan wants them, entropies. */
type LanguageHead = (hidden: Tensor, weight: Tensor, targets: Tensor, inverseTemperature: NumberLike) => readonly Tensor[];
/** A function of `[rows, hidden]`, `[vocabulary, hidden]` and int64 `[rows]`. `fused`: kernels for a chunk of logits. */
export declare function makeLanguageHead(plan: HeadPlan, ops: FusedOps, fused?: LogprobOps): LanguageHead;
export {};
