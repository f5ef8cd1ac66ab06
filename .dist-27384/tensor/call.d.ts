/**
 * One operator call: values into the mailbox, one native call, results out. While a function is being recorded the same
 * values become an instruction of the program instead.
 *
 * The mailbox is a buffer of doubles shared with the bridge; `native/values.cc` reads what is written here.
 */
import { type Device, type DType } from './dtype.js';
/**
 * What a tensor or a recorded number is to the bridge. Positive: a native handle. Negative: a value of the recording under
 * way. Zero: disposed.
 */
export declare class Ref {
    /** @internal */
    ref: number;
    constructor(
    /** @internal */
    ref: number);
}
/** A random number generator's handle. */
export declare class GeneratorRef {
    /** @internal */
    ref: number;
    constructor(
    /** @internal */
    ref: number);
}
/** An integer known only when a recorded program runs: a size, or arithmetic on sizes. */
export declare class Sym extends Ref {
    add(other: NumberLike): Sym;
    sub(other: NumberLike): Sym;
    mul(other: NumberLike): Sym;
    /** Rounds down. */
    div(other: NumberLike): Sym;
    mod(other: NumberLike): Sym;
}
export type NumberLike = number | Sym;
/** An operator the typed methods call; bound when it is first used, so that a libtorch without it still loads. */
export interface Operator {
    readonly name: string;
    readonly overload: string;
    readonly names: string;
    index: number;
}
export declare function operator(name: string, overload: string, names: string): Operator;
/** The tensor class comes later in the module graph than the calls its methods make. */
export declare function setTensorClass(make: (ref: number) => Ref): void;
export declare function isRecording(): boolean;
export declare function begin(op: Operator): void;
/** The next argument. `undefined` asks for the schema's default. */
export declare function arg(value: unknown): void;
export declare function argDtype(value: DType | undefined): void;
export declare function argDevice(value: Device | undefined): void;
/** Binds the operator, unless it is bound already. */
export declare function bindNow(op: Operator): number;
/** Makes the call; one tensor comes back. */
export declare function toTensor(op: Operator): Ref;
/** Makes the call of an operator whose result is its first argument, or that has none. */
export declare function toNothing(op: Operator): void;
/** Makes the call; `count` results come back, undefined where libtorch returns no tensor. */
export declare function toSeveral(op: Operator, count: number): unknown[];
/** Makes the call; whatever it gives comes back. */
export declare function resultsOf(op: Operator): unknown[];
/** Makes the call; a list of tensors comes back. */
export declare function toList(op: Operator): Ref[];
/** Makes the call; a number or a boolean comes back. */
export declare function toScalar(op: Operator): unknown;
/** Tagged values out of `from`. Tensors among them belong to the current scope. */
export declare function decode(from: Float64Array, at: number, count: number): unknown[];
/** As `Code` in native/bridge.h. */
export declare enum Code {
    Size = 1,
    Arith = 2,
    Backward = 3,
    Gradient = 4,
    GradMode = 5,
    Item = 6,
    Kernel = 7,
    Custom = 8,
    Checkpoint = 9,
    SetGradient = 10
}
/** Performs, or records, an instruction. `results` says how many values a recorded one will have. */
export declare function special(code: Code, values: readonly unknown[], results: number, first?: number, second?: number): unknown[];
/** Puts values without a schema into the mailbox. */
export declare function writeValues(values: readonly unknown[]): void;
/** The mailbox as it is now; a later call may replace it. */
export declare function mailbox(atLeast?: number): Float64Array;
export declare function arithmetic(what: string, a: NumberLike, b: NumberLike): Sym;
/** Runs `body` with its calls going into a new program; returns the program's handle and what `body` returned. */
export declare function recordInto<T>(inputs: number, body: (first: number) => {
    outputs: readonly Ref[];
    result: T;
}): {
    program: number;
    result: T;
};
