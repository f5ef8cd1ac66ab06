export { checkpoint, customFunction, enableGrad, isGradEnabled, noGrad } from './autograd.js';
export { Sym } from './call.js';
export { callOperator, operatorExists } from './call-operator.js';
export { backend, cudaDevice, devicePattern, expectedDevice, memoryUse, requireDevice, resolveDevice, Stream, synchronize, threads, } from './device.js';
export { dither } from './dither.js';
export { dtypeBytes } from './dtype.js';
export { ArgumentError, BridgeMissingError, DeviceError, OutOfMemoryError, TensorError } from './errors.js';
export { Kernel } from './kernel.js';
export * from './operators.generated.js';
export { AdamW, adamWRates, checkClipNorm, NonFiniteGradientError, } from './optim.js';
export { CapturedProgram, Program, record } from './program.js';
export { manualSeed, RandomGenerator } from './random.js';
export * from './safetensors/index.js';
export { createSchedule } from './schedule.js';
export { keep, scope, scopeAsync, unscoped } from './scope.js';
export { gradients, Tensor } from './tensor.js';
//# sourceMappingURL=index.js.map