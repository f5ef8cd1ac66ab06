/**
 * Programs: a function of tensors and numbers recorded once as a list of operator calls, run many times natively in one
 * crossing. `run` computes on a thread of its own, so the event loop stays free however long it takes.
 *
 * While recording, tensors have no values and no shapes: `size(dim)` gives a number of the program, JavaScript control flow
 * happens once, at recording time. Tensors of the outside that the function uses are captured, not copied: a program sees a
 * weight as it is when it runs.
 */
import { Sym } from './call.js';
import { Tensor } from './tensor.js';
export type InputKind = 'tensor' | 'number';
/** What the recorded function gets for its inputs. */
export type Recorded<K extends readonly InputKind[]> = {
    [I in keyof K]: K[I] extends 'tensor' ? Tensor : K[I] extends 'number' ? Sym : Tensor | Sym;
};
/** What `run` takes for them. */
export type Inputs<K extends readonly InputKind[]> = {
    [I in keyof K]: K[I] extends 'tensor' ? Tensor : K[I] extends 'number' ? number : Tensor | number;
};
/** A function records one tensor, several, or none (it then works by in-place operators and `backward`). */
export type Outputs = Tensor | readonly Tensor[] | undefined;
/** What comes back of a run: as many tensors as the function returned. */
export type Results<R> = R extends Tensor ? Tensor : R extends readonly Tensor[] ? {
    [I in keyof R]: Tensor;
} : undefined;
/** Frees a program when `owner` is collected. @internal */
export declare function releaseWith(owner: object, program: number): void;
/** The symbolic inputs of a recording whose first slot is `first`. @internal */
export declare function symbols(kinds: readonly InputKind[], first: number): (Tensor | Sym)[];
/**
 * Records `fn`.
 *
 * ```ts
 * const step = record(['tensor', 'number'], (x, n) => x.matmul(w).mul(n).silu())
 * const y = await step.run(x, 3)
 * ```
 */
export declare function record<const K extends readonly InputKind[], R extends Outputs | void>(kinds: K, fn: (...inputs: Recorded<K>) => R): Program<K, R>;
export declare class Program<K extends readonly InputKind[] = readonly InputKind[], R = unknown> {
    /** @internal */
    ref: number;
    readonly kinds: K;
    private readonly shape;
    private captured;
    constructor(
    /** @internal */
    ref: number, kinds: K, shape: {
        single: boolean;
        count: number;
    });
    private write;
    private results;
    /**
     * Runs on a thread of its own; programs of one JavaScript thread run one after another, in the order of the calls. The
     * inputs may be disposed as soon as this returns. The caller owns the results.
     */
    run(...inputs: Inputs<K>): Promise<Results<R>>;
    /**
     * As `run`; a program known to be short runs at once, unless it would overtake one that was started before it. A loop of
     * these still lets the event loop turn every few milliseconds.
     * @internal
     */
    runShort(...inputs: Inputs<K>): Promise<Results<R>>;
    /** Runs on this thread, now: for programs shorter than handing them over. */
    call(...inputs: Inputs<K>): Results<R>;
    /**
     * Captures a run as a CUDA graph. The graph reads the memory of these inputs and writes that of `outputs`, at every
     * `replay()`: copy new values in before, copy results out after. Numbers are fixed at their value here. `beside`: a graph
     * that never runs at the same time; what either needs only while it runs then lies in the same memory.
     *
     * A program that runs `backward` can be captured only while no tensor of an earlier pass over the same leaves is alive:
     * it would tie their gradients to the stream of that pass.
     */
    capture(inputs: Inputs<K>, { warmups, beside }?: {
        warmups?: number;
        beside?: CapturedProgram | undefined;
    }): Promise<CapturedProgram<R>>;
    dispose(): void;
    [Symbol.dispose](): void;
}
export declare class CapturedProgram<R = unknown> {
    /** @internal */
    ref: number;
    /** Rewritten by every replay. */
    readonly outputs: Results<R>;
    constructor(
    /** @internal */
    ref: number, 
    /** Rewritten by every replay. */
    outputs: Results<R>);
    /** Starts the graph on the current stream and returns at once. */
    replay(): void;
    dispose(): void;
}
