import { WhetstoneError } from '../errors/index.js';
/** An operator refused its arguments, or failed. The message names the operator, its arguments, shapes and dtypes. */
export declare class TensorError extends Error {
    name: string;
    /** Where the failing operator was recorded, when it ran inside a program: `file:line:column`. */
    readonly recordedAt: string | undefined;
    constructor(message: string, options?: {
        cause?: unknown;
        recordedAt?: string | undefined;
    });
}
/** A caller's mistake: a value of the wrong type, a disposed tensor, a missing argument. */
export declare class ArgumentError extends TensorError {
    name: string;
}
/** The device or the machine has no memory left for what was asked. Nothing was computed. */
export declare class OutOfMemoryError extends TensorError {
    name: string;
}
/** A device that this machine does not have. */
export declare class DeviceError extends WhetstoneError {
    name: string;
}
/** The native bridge is not built, or does not load. */
export declare class BridgeMissingError extends WhetstoneError {
    name: string;
}
/** Turns what the bridge threw into one of the errors above. */
export declare function fromNative(thrown: unknown): Error;
