import { type Device } from './dtype.js';
export interface CudaDevice {
    name: string;
    totalBytes: number;
    /** Compute capability, as `9.0`. */
    capability: string;
    multiprocessors: number;
}
export interface Backend {
    libtorchVersion: string;
    operatorCount: number;
    threads: number;
    /** libtorch's own account of how it was built: BLAS, OpenMP, instruction sets. */
    config: string;
    cuda: {
        available: boolean;
        graphs: boolean;
        devices: CudaDevice[];
    };
}
export declare function backend(): Backend;
/** How many threads an operator may use on the CPU; answers with the number in force. */
export declare function threads(count?: number): number;
/** Undefined for the CPU, and where there is no such device. */
export declare function cudaDevice(device: Device): CudaDevice | undefined;
/** What configs and commands take for a device; {@link resolveDevice} says which one it is. */
export declare const devicePattern: RegExp;
export declare const expectedDevice = "expected auto, cpu, cuda or cuda:N";
/** `auto` is the GPU where libtorch and a driver have one. Every other word is itself. */
export declare function resolveDevice(device: string, { available, devices }?: Pick<Backend['cuda'], 'available' | 'devices'>): Device;
/**
 * The device itself, where this machine has it; a {@link DeviceError} where it does not. Asked before anything is loaded:
 * libtorch's own answer is a hundred lines long.
 */
export declare function requireDevice(device: Device, { available, devices }?: {
    available: boolean;
    devices: readonly unknown[];
}): Device;
export interface MemoryUse {
    /** Held now and at most since the last reset, by anything: tensors, saved activations, operators' temporaries. */
    bytes: number;
    peakBytes: number;
    /** What the device's allocator keeps from the system; on the CPU the same as `bytes`. */
    reservedBytes: number;
    /** Handles this JavaScript thread holds, on all devices. */
    liveTensors: number;
    peakTensors: number;
}
export declare function memoryUse(device?: Device, options?: {
    resetPeak?: boolean;
}): MemoryUse;
/** Resolves when everything started on the device has finished. */
export declare function synchronize(device?: Device): Promise<void>;
/** A queue of a CUDA device. Work on different streams may overlap; `waitFor` orders it. */
export declare class Stream {
    private readonly ref;
    constructor(device?: Device);
    /** Runs `fn` with its eager operators on this stream. */
    use<T>(fn: () => T): T;
    /** What comes next here starts after what was started on `other`. */
    waitFor(other: Stream): void;
}
