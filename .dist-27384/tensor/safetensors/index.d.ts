export { Checkpoint } from './checkpoint.js';
export { SafetensorsError } from './error.js';
export { type Progress, type ReadOptions, SafetensorsFile, type TransferOptions } from './file.js';
export type { Metadata, TensorInfo } from './header.js';
export { type WriteCheckpointOptions, writeCheckpoint } from './write-checkpoint.js';
export { type NamedTensors, type WriteOptions, writeSafetensors } from './write-file.js';
