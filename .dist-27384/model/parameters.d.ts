import { type DecoderParts, type LowRank, type Weight } from '../decoder/index.js';
import { type Tensor } from '../tensor/index.js';
import type { Adapter } from './adapter.js';
import { type ModelParts } from './loading.js';
import type { PolicyVersion } from './token-model.js';
export declare class Parameters {
    readonly weightMap: readonly Weight[];
    /** By the weight map's names. */
    readonly tensors: ReadonlyMap<string, Tensor>;
    readonly adapter: Adapter | undefined;
    readonly parts: DecoderParts;
    /** Optimiser steps that made them. */
    version: PolicyVersion;
    /** Differs whenever a number does: what was computed with another revision is computed again. */
    revision: number;
    private readonly device;
    private adapterMerged;
    private away;
    /** Why the numbers are not to be used, where they are not. */
    private torn;
    private fingerprint;
    private generation;
    constructor({ role, config, tensors, adapter, settings, version }: ModelParts);
    get merged(): boolean;
    get offloaded(): boolean;
    /** Whatever works with weights works with them where they are computed with. */
    refuseOffloaded(): void;
    /** Weights that are elsewhere, or half another training's, are not computed with. */
    refuseUnusable(): void;
    /** Why the numbers must not be computed with: a change of them failed part-way. */
    get broken(): string | undefined;
    /** Changes the numbers in several steps: where one fails, the others have been made. */
    rewrite(work: () => Promise<void>, failure: string): Promise<void>;
    /** What is trained: the adapter's matrices by PEFT's names, weights by the weight map's. */
    trained(): Map<string, Tensor>;
    /** The accumulated gradients by the checkpoint's names. The caller disposes them. */
    gradients(): Map<string, Tensor>;
    /** Adds the adapter into the weights, for good. The policy is the same; its numbers differ by rounding. */
    mergeAdapter(): Promise<void>;
    /** What the adapter adds, by the checkpoint's name of the weight it adds to. */
    adapted(): Map<string, LowRank>;
    /** Tells weights apart that are not trained: equal for equal bits, found in one pass over them. */
    frozenFingerprint(): Promise<string | null>;
    /** Takes over others' numbers, and their adapter's where both have one. */
    copyFrom(other: Parameters): Promise<void>;
    /** Moves what is trained towards another's numbers, its masters where it has some: `decay` of one's own and the rest of theirs. */
    average(other: Parameters, masters: ReadonlyMap<string, Tensor>, decay: number): Promise<void>;
    /** Moves weights, adapter, gradients and the tensors of `others` to CPU memory. */
    offload(others: Iterable<Tensor>): Promise<void>;
    reload(others: Iterable<Tensor>): Promise<void>;
    private move;
    /** Drops accumulated gradients. */
    zeroGrad(): void;
    dispose(): void;
}
