export { checkpoint, customFunction, enableGrad, type Forward, type Given, isGradEnabled, noGrad } from './autograd.js'
export { type NumberLike, Sym } from './call.js'
export { callOperator, type OperatorArgument, operatorExists } from './call-operator.js'
export {
  type Backend,
  backend,
  type CudaDevice,
  cudaDevice,
  devicePattern,
  expectedDevice,
  type MemoryUse,
  memoryUse,
  requireDevice,
  resolveDevice,
  Stream,
  synchronize,
  threads,
} from './device.js'
export { dither } from './dither.js'
export { type ArrayOf, type Device, type DType, dtypeBytes, type TypedArray } from './dtype.js'
export { ArgumentError, BridgeMissingError, DeviceError, OutOfMemoryError, TensorError } from './errors.js'
export { Kernel, type KernelParameter, type Launch } from './kernel.js'
export * from './operators.generated.js'
export {
  AdamW,
  type AdamWOptions,
  adamWRates,
  checkClipNorm,
  NonFiniteGradientError,
  type Parameters,
  type StepOptions,
  type Update,
} from './optim.js'
export { CapturedProgram, type InputKind, Program, record } from './program.js'
export { manualSeed, RandomGenerator } from './random.js'
export * from './safetensors/index.js'
export { createSchedule, type Schedule, type ScheduleOptions } from './schedule.js'
export { keep, scope, scopeAsync, unscoped } from './scope.js'
export { gradients, type Index, Tensor } from './tensor.js'
