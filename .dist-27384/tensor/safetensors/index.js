export { Checkpoint } from './checkpoint.js';
export { SafetensorsError } from './error.js';
export { SafetensorsFile } from './file.js';
export { writeCheckpoint } from './write-checkpoint.js';
export { writeSafetensors } from './write-file.js';
//# sourceMappingURL=index.js.map