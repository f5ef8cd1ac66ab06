export { checkpoint, customFunction, enableGrad, isGradEnabled, noGrad } from './autograd.js'
export { type NumberLike, Sym } from './call.js'
export { callOperator, operatorExists } from './call-operator.js'
export { type GroupOptions, hasCollectives, ProcessGroup, Store } from './collectives.js'
export * from './device.js'
export { dither } from './dither.js'
export { type ArrayOf, type Device, type DType, dtypeBytes, type TypedArray } from './dtype.js'
export {
  ArgumentError,
  BridgeMissingError,
  CollectiveError,
  DeviceError,
  OutOfMemoryError,
  TensorError,
} from './errors.js'
export { Kernel, type KernelParameter, type Launch } from './kernel.js'
export * from './operators.generated.js'
export * from './optim.js'
export { CapturedProgram, type InputKind, Program, record } from './program.js'
export { endWithParent, Pulse } from './pulse.js'
export { manualSeed, RandomGenerator } from './random.js'
export { type Picture, releaseBytes, resizePicture } from './resize-picture.js'
export * from './safetensors/index.js'
export { createSchedule, type Schedule, type ScheduleOptions } from './schedule.js'
export { keep, scope, scopeAsync, unscoped } from './scope.js'
export { gradients, type Index, Tensor } from './tensor.js'
