/**
 * One contract for actor, critic, reference and reward model: token sequences in, numbers per token (or per sequence) out;
 * gradients of those numbers in, trained weights out. Padding and packing stay inside.
 */
import type { DecoderParts, ModelConfig } from '../decoder/index.js';
import { type Device, type DType, type Tensor } from '../tensor/index.js';
import type { Adapter } from './adapter.js';
import { type LoadOptions } from './loading.js';
import { type Gradients, type Outputs, type Role, type ScoreOptions, type TrainOptions } from './outputs.js';
import { type Sequence } from './sequence.js';
import type { ExportOptions, ExportReport, ModelCapabilities, PolicyVersion, TokenModel, TrainStepOptions, TrainStepResult } from './token-model.js';
export declare class LocalModel<R extends Role = Role> implements TokenModel<R> {
    /** What a generation engine needs to run the same weights: it sees every update the moment it is made. */
    readonly parts: DecoderParts;
    readonly role: R;
    readonly config: ModelConfig;
    readonly adapter: Adapter | undefined;
    /** Where it was loaded from. */
    readonly source: string | undefined;
    /** Where the tokenizer's files and the generation config of an export come from. */
    private readonly texts;
    private readonly settings;
    private readonly weights;
    private readonly forwardPrograms;
    private readonly runner;
    /** Made when it is first needed: a model that only scores has none. */
    private optimizer;
    /** What `forwardBackward` was called with since the last step. */
    private readonly accumulation;
    private readonly turns;
    /** Of dropout: with the version, where its random numbers are. */
    private seed;
    private readonly lossScale;
    /** What a reward model's score passes over at the end of a sequence. */
    private readonly padding;
    /** Files whose digits training starts from. */
    private masterSources;
    private constructor();
    /**
     * Loads a Hugging Face model directory.
     *
     * ```ts
     * const actor = await LocalModel.load('Qwen2.5-0.5B', { role: 'language' })
     * const [scored] = await actor.score([await tokenizer.encode('Hello there')])
     * console.log(scored?.logprobs)
     * ```
     */
    static load<R extends Role = Role>(directory: string, options?: LoadOptions<R>): Promise<LocalModel<R>>;
    /** A model with random weights. */
    static create<R extends Role>(config: ModelConfig, options: Omit<LoadOptions<R>, 'role'> & {
        role: R;
        seed: number;
    }): Promise<LocalModel<R>>;
    /** Counts optimiser steps: saved, restored and copied with the weights. */
    get version(): PolicyVersion;
    /**
     * Changes with every change of the numbers a forward pass gives, for callers that keep something computed from them. Counts
     * from 0 in every process, and is not the version: a merged adapter is the same policy.
     */
    get weightsRevision(): number;
    get vocabSize(): number;
    /** Tokens a sequence may have. */
    get maxLength(): number;
    get capabilities(): ModelCapabilities;
    /** Whether its weights are away from their device; see `offload`. */
    get offloaded(): boolean;
    /** Why its weights must not be computed with, where a change of them failed part-way. */
    get broken(): string | undefined;
    get device(): Device;
    get dtype(): DType;
    /** What each token, or sequence, is given by this model; one entry per sequence, in their order. */
    score(sequences: readonly Sequence[], options?: ScoreOptions): Promise<Outputs[R][]>;
    /** The logits after each sequence's last token: what the next one would be drawn from. */
    nextLogits(this: LocalModel<'language'>, sequences: readonly Sequence[], options?: Pick<ScoreOptions, 'adapter' | 'packing' | 'signal'>): Promise<Float32Array[]>;
    /**
     * Computes outputs with gradients recorded, asks `lossGradient` for the gradient of the loss with respect to them, and
     * adds what follows to the parameters' gradients. Called once per batch with the sequences that are in it; what it
     * returns must not depend on how they were split. `step` applies the sum over all calls. A call that throws leaves half a
     * batch behind, so `step` is refused until `zeroGrad`.
     */
    forwardBackward(sequences: readonly Sequence[], lossGradient: (outputs: readonly Outputs[R][], indices: readonly number[]) => readonly Gradients[R][], options?: TrainOptions): Promise<void>;
    private backpropagate;
    /**
     * Applies the accumulated gradients by AdamW and drops them. A gradient that is not finite stops before any weight
     * changes, and the sequence it came from is named; in float16 a smaller loss scale is tried first (`skipped`). An option that
     * is no number AdamW can work with is an error, too.
     */
    step(options: TrainStepOptions): Promise<TrainStepResult>;
    /** Where there is none yet, its masters are without numbers. */
    private emptyOptimizer;
    private startedOptimizer;
    /** Drops accumulated gradients. */
    zeroGrad(): void;
    private dropGradients;
    /** The accumulated gradients by the checkpoint's names; of float16 weights in float32. The caller disposes them. */
    gradients(): Map<string, Tensor>;
    /**
     * Writes what others load, whole or not at all: the model, its adapter merged into a copy of the weights; the adapter alone,
     * in PEFT's format; or the weights without their adapter. Over an earlier export: the old one or the new one.
     */
    export(directory: string, options: ExportOptions): Promise<ExportReport>;
    /** Config and weights, into a directory that is there. @internal */
    writeInto(directory: string): Promise<Pick<ExportReport, 'parameters' | 'bytes'>>;
    private exported;
    /**
     * Writes one directory, whole or not at all, from which `loadState` of a model of the same shape continues bit for bit:
     * what is trained, float32 copies, moments, step counts, the version, and the position of dropout's random numbers.
     */
    saveState(directory: string): Promise<void>;
    /** Takes over a state that `saveState` wrote. One of another training is refused, by what differs, and changes nothing. */
    loadState(directory: string): Promise<void>;
    /** What makes a training another one: a state is taken over where all of it is equal. */
    private training;
    private dropOptimizer;
    /**
     * Adds the adapter into the weights, for good: the same policy without the adapter's cost. It can no longer be trained,
     * left out or written apart.
     */
    mergeAdapter(): Promise<void>;
    /** Takes over another model's weights, its adapter's where both have one, and its version; cast to this one's dtype. */
    copyFrom(other: LocalModel): Promise<void>;
    /**
     * Takes over the weights of a Hugging Face directory, where these lie: a program or an engine that holds them goes on with the
     * new ones. A directory that does not fit is refused and changes nothing. No second copy of the weights is made, so that a disk
     * that fails half-way leaves half of each: nothing is computed with them until a directory was read whole.
     */
    loadWeights(directory: string, options?: Pick<LoadOptions<R>, 'signal' | 'onProgress'>): Promise<void>;
    /** Becomes a moving average of what another model trains: its own numbers count `decay`, the other's the rest. */
    average(other: LocalModel<R>, { decay }: {
        decay: number;
    }): Promise<void>;
    /** A fingerprint of the weights: equal for equal bits. */
    checksum(): Promise<string>;
    /**
     * Moves everything the model holds on its device to CPU memory: weights, adapter, gradients, float32 copies and moments.
     * `reload` brings them back, bit for bit; anything else in between is an error that says so. What is left on the device
     * shows `memoryUse(device)`: the libraries' own work space.
     */
    offload(): Promise<void>;
    reload(): Promise<void>;
    dispose(): void;
}
