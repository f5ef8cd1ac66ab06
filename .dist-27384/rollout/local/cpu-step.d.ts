/** Engine steps on the CPU: a recorded program over operators of our own (`native/{linear,attention,sampling}.cc`). */
import { type DecoderParts } from '../../decoder/index.js';
import { type DType } from '../../tensor/index.js';
import type { StepBatch, StepDevice, StepResult } from './step.js';
import type { StepDeviceOptions } from './step-device.js';
export interface CpuStepOptions extends StepDeviceOptions {
    dtype: DType;
}
export declare class CpuStep implements StepDevice {
    private readonly parts;
    private readonly options;
    private readonly tables;
    private readonly cache;
    private readonly programs;
    constructor(parts: DecoderParts, options: CpuStepOptions);
    get blocks(): number;
    allocate(cacheBytes: number): void;
    release(): void;
    dispose(): void;
    step(batch: StepBatch): Promise<StepResult>;
    private program;
    private record;
}
