import { type Device } from '../tensor/index.js';
/** What this process and the model's device hold, by the metrics' names; the peak is since the last call. */
export declare function memoryMetrics(device: Device): Record<string, number>;
