import { inspect } from 'node:util'
import { Code, isRecording, mailbox, type NumberLike, type Ref, Sym, setTensorClass, special } from './call.js'
import {
  type ArrayOf,
  arrayConstructor,
  type Device,
  type DType,
  deviceName,
  dtypeBytes,
  dtypeCode,
  dtypeName,
  dtypeOf,
  dtypeOfArray,
  type TypedArray,
} from './dtype.js'
import { ArgumentError, fromNative } from './errors.js'
import { native } from './native.js'
import { empty, TensorOperators } from './operators.generated.js'
import { adopt, release } from './ownership.js'
import { unscoped } from './scope.js'

/** A position, a range `[start, end]` (either may be undefined, `end` exclusive), every element, or a tensor of indices or mask. */
export type Index = NumberLike | readonly [NumberLike | undefined, NumberLike | undefined] | 'all' | 'new' | Tensor

type NestedNumbers = number | bigint | boolean | readonly NestedNumbers[]

interface Meta {
  /** libtorch's number of it: an operator may make one this library has no name for. */
  dtypeCode: number
  device: Device
  requiresGrad: boolean
  isLeaf: boolean
  isContiguous: boolean
  itemBytes: number
  shape: number[]
}

/**
 * A tensor in libtorch's memory. Operators are methods (`a.matmul(b)`) or functions (`cat([a, b])`), named as in PyTorch in
 * camelCase, in-place ones with a trailing underscore. See `scope` for who frees it.
 *
 * ```ts
 * const a = Tensor.from([[1, 2], [3, 4]], { requiresGrad: true })
 * a.mul(a).sum().backward()
 * a.grad?.tolist() // [[2, 4], [6, 8]]
 * ```
 */
export class Tensor extends TensorOperators {
  /** Wraps a native handle; it then has an owner. @internal */
  static adopt(ref: number): Tensor {
    return adopt(new Tensor(ref))
  }

  /**
   * From a typed array (one copy, into libtorch's memory), or from nested arrays of numbers. Numbers are float32, bigints
   * int64, booleans bool, unless `dtype` says otherwise.
   */
  static from(
    data: TypedArray | NestedNumbers,
    options: { shape?: readonly number[]; dtype?: DType; device?: Device; requiresGrad?: boolean } = {},
  ): Tensor {
    const plain = ArrayBuffer.isView(data) ? undefined : flattenNested(data as NestedNumbers)
    const bits = data instanceof Uint16Array && (options.dtype === 'float16' || options.dtype === 'bfloat16')
    const array = plain ? plain.array : (data as TypedArray)
    const stored = bits ? (options.dtype as DType) : plain ? plain.dtype : dtypeOfArray(array)
    const shape = options.shape ?? plain?.shape ?? [array.length]
    if (!Array.isArray(shape) || shape.length > 64)
      throw new ArgumentError('a shape is an array of 64 whole numbers at most')
    const sizes: unknown[] = Array.from(shape)
    if (!sizes.every(size => typeof size === 'number')) throw new ArgumentError('a shape is an array of whole numbers')
    const box = mailbox()
    for (const [i, size] of sizes.entries()) box[i] = size as number
    let tensor: Tensor
    try {
      const raw = stored === 'bool' ? 'uint8' : stored
      tensor = Tensor.adopt(native.fromBytes(array, dtypeCode(raw), sizes.length))
    } catch (thrown) {
      throw fromNative(thrown)
    }
    const wanted = options.dtype ?? (plain && stored === 'float64' ? 'float32' : stored)
    if (wanted !== tensor.dtype || (options.device && options.device !== 'cpu')) {
      const moved = tensor.to(options.device ?? 'cpu', wanted)
      tensor.dispose()
      tensor = moved
    }
    if (options.requiresGrad) tensor.requiresGrad = true
    return tensor
  }

  /** Memory that is not filled. */
  static empty(shape: readonly number[], options: { dtype?: DType; device?: Device } = {}): Tensor {
    return empty(shape, options)
  }

  /** Its native handle, which a recorded value has not. */
  private handle(what: string): number {
    if (this.ref < 0) throw new ArgumentError(`while a program is recorded a tensor has no ${what} yet`)
    return this.ref
  }

  private meta(): Meta {
    if (this.ref < 0)
      throw new ArgumentError(
        'while a program is recorded a tensor has no shape yet; use size(dim), or pass the number in',
      )
    try {
      native.meta(this.ref)
    } catch (thrown) {
      throw fromNative(thrown)
    }
    const box = mailbox()
    const dims = box[8]!
    const shape: number[] = new Array(dims)
    for (let i = 0; i < dims; i++) shape[i] = box[9 + i]!
    return {
      dtypeCode: box[0]!,
      device: deviceName(box[1]!, box[2]!),
      requiresGrad: box[3] !== 0,
      isLeaf: box[4] !== 0,
      isContiguous: box[5] !== 0,
      itemBytes: box[6]!,
      shape,
    }
  }

  get shape(): number[] {
    return this.meta().shape
  }

  get dtype(): DType {
    return dtypeOf(this.meta().dtypeCode)
  }

  get device(): Device {
    return this.meta().device
  }

  get isLeaf(): boolean {
    return this.meta().isLeaf
  }

  get isContiguous(): boolean {
    return this.meta().isContiguous
  }

  /** The number of elements. */
  get numel(): number {
    return this.meta().shape.reduce((product, size) => product * size, 1)
  }

  /** The bytes its elements take; a view counts its own elements. */
  get nbytes(): number {
    const { shape, itemBytes } = this.meta()
    return shape.reduce((product, size) => product * size, itemBytes)
  }

  get isDisposed(): boolean {
    return this.ref === 0
  }

  /** The length of a dimension; a value of the program while one is recorded. */
  size(dim: number): number
  size(dim: NumberLike): NumberLike
  size(dim: NumberLike): NumberLike {
    if (isRecording() && this.ref < 0) return new Sym((special(Code.Size, [this, dim], 1)[0] as Ref).ref)
    return special(Code.Size, [this, dim], 1)[0] as number
  }

  // ---- gradients

  get requiresGrad(): boolean {
    return this.meta().requiresGrad
  }

  set requiresGrad(on: boolean) {
    try {
      native.setRequiresGrad(this.handle('gradient'), on)
    } catch (thrown) {
      throw fromNative(thrown)
    }
  }

  /** The gradient that `backward` accumulated here. The caller owns what this returns; the gradient itself stays. */
  get grad(): Tensor | undefined {
    return special(Code.Gradient, [this], 1)[0] as Tensor | undefined
  }

  set grad(value: Tensor | undefined) {
    special(Code.SetGradient, [this, value ?? null], 0)
  }

  /** Adds the gradient of this tensor (a scalar, or with `gradient` given) to `grad` of every leaf it was computed from. */
  backward(gradient?: Tensor, options: { retainGraph?: boolean } = {}): void {
    special(Code.Backward, [this, gradient ?? null, options.retainGraph ?? false], 0)
  }

  // ---- moving and reading

  /** On another device, or of another dtype; itself, as a new handle, when nothing changes. */
  to(device: Device | undefined, dtype?: DType): Tensor {
    if (this.ref > 0) {
      const { device: here, dtypeCode: code } = this.meta()
      const target = device === 'cuda' && here.startsWith('cuda') ? here : (device ?? here)
      const sameDtype = dtype === undefined || dtypeCode(dtype) === code
      if (sameDtype && (target === here || `${target}:0` === here)) return this.alias()
    }
    return this.toCopy({ device, dtype })
  }

  /** A second handle on the same tensor, with an owner of its own. */
  alias(): Tensor {
    if (this.ref < 0) return new Tensor(this.ref)
    try {
      return Tensor.adopt(native.alias(this.ref))
    } catch (thrown) {
      throw fromNative(thrown)
    }
  }

  cast(dtype: DType): Tensor {
    return this.to(undefined, dtype)
  }

  /**
   * Its elements in a typed array (float16 and bfloat16 as their bits, int64 as bigints). Copied on a thread of its own, so
   * that waiting for a GPU does not stop the event loop.
   */
  async data<D extends DType = DType>(): Promise<ArrayOf[D]> {
    let answer: Float64Array
    try {
      answer = await native.toHost(this.handle('values'))
    } catch (thrown) {
      throw fromNative(thrown)
    }
    const host = new Tensor(answer[3]!)
    try {
      const Constructor = arrayConstructor(host.dtype)
      return new Constructor(native.memoryOf(host.ref)) as ArrayOf[D]
    } finally {
      release(host)
    }
  }

  /** Its elements copied into `target`, whose bytes must be as many; now, on this thread. */
  read<A extends TypedArray>(target: A): A {
    try {
      native.readInto(this.handle('values'), target)
    } catch (thrown) {
      throw fromNative(thrown)
    }
    return target
  }

  /** Its elements in a new typed array; now, on this thread. */
  toArray<D extends DType = DType>(): ArrayOf[D] {
    const { dtype } = this
    const Constructor = arrayConstructor(dtype)
    return this.read(new Constructor(this.nbytes / dtypeBytes(dtype)) as TypedArray) as ArrayOf[D]
  }

  /** The only element of a one-element tensor, as a number; now, on this thread. */
  item(): number {
    return unscoped(() => {
      const wide = this.toCopy({ device: 'cpu', dtype: 'float64' })
      try {
        return wide.read(new Float64Array(1))[0]!
      } finally {
        wide.dispose()
      }
    })
  }

  /** Nested arrays of numbers, for looking at small tensors. */
  tolist(): unknown {
    const { shape } = this
    const flat = unscoped(() => {
      const wide = this.toCopy({ device: 'cpu', dtype: 'float64' })
      try {
        return wide.toArray<'float64'>()
      } finally {
        wide.dispose()
      }
    })
    let at = 0
    const nest = (dim: number): unknown =>
      dim === shape.length ? flat[at++] : Array.from({ length: shape[dim]! }, () => nest(dim + 1))
    return nest(0)
  }

  /**
   * Its memory, without a copy: writing here writes the tensor. Only for a contiguous tensor on the CPU. The memory lives as
   * long as the view, even if the tensor is disposed before it, and can no longer be resized.
   */
  bytes(): Uint8Array {
    try {
      return new Uint8Array(native.memoryOf(this.handle('memory')))
    } catch (thrown) {
      throw fromNative(thrown)
    }
  }

  // ---- indexing

  /**
   * Part of the tensor, dimension by dimension: a number takes one position and drops the dimension, `[start, end]` a range,
   * `'all'` everything, `'new'` adds a dimension, a tensor picks by index or mask.
   *
   * ```ts
   * logits.at('all', -1)        // logits[:, -1]
   * x.at([0, 10], 'all', mask)  // x[:10, :, mask]
   * ```
   */
  at(...indices: Index[]): Tensor {
    const made: Tensor[] = []
    let view: Tensor = this
    let dim = 0
    // One entry for each dimension, except that a mask stands for as many as it has.
    const picks: (Tensor | null)[] = []
    const next = (value: Tensor): void => {
      made.push(value)
      view = value
    }
    for (const index of indices) {
      if (index === 'all') {
        dim++
        picks.push(null)
      } else if (index === 'new') {
        next(view.unsqueeze(dim++))
        picks.push(null)
      } else if (index instanceof Tensor) {
        dim += index.spans()
        picks.push(index)
      } else if (Array.isArray(index)) {
        next(view.slice(dim++, index[0], index[1]))
        picks.push(null)
      } else next(view.select(dim, index as NumberLike))
    }
    if (picks.some(pick => pick !== null)) next(view.indexTensor(picks))
    if (made.length === 0) return this.alias()
    // Only the last view is the caller's.
    if (!isRecording()) for (const part of made.slice(0, -1)) part.dispose()
    return view
  }

  /** How many dimensions it indexes: a mask as many as it has. A recorded one is taken for a list of positions. */
  private spans(): number {
    if (this.ref < 0) return 1
    const { dtypeCode: code, shape } = this.meta()
    return code === dtypeCode('bool') ? shape.length : 1
  }

  /** Writes `value` into the part that `indices` name, as `at` would take it. */
  set(indices: readonly Index[], value: Tensor | number): this {
    if (!Array.isArray(indices) || indices.length > 64)
      throw new ArgumentError('set() takes an array of indices, one for each dimension at most')
    const source = value instanceof Tensor ? value : undefined
    const last = indices.findIndex(index => index instanceof Tensor)
    if (last < 0) {
      const part = this.at(...indices)
      if (source) part.copy_(source)
      else part.fill_(value as number)
      if (!isRecording()) part.dispose()
      return this
    }
    if (indices.some(index => index !== 'all' && !(index instanceof Tensor))) {
      throw new ArgumentError('set() takes ranges or index tensors, not both; use at() for the ranges first')
    }
    const picks = indices.map(index => (index instanceof Tensor ? index : null))
    if (source) this.indexPut_(picks, source)
    else {
      // While recording neither dtype nor device is known, but the part to be written has both.
      const filler = isRecording()
        ? this.indexTensor(picks).fullLike(value as number)
        : Tensor.from([value as number], { shape: [], dtype: this.dtype, device: this.device })
      this.indexPut_(picks, filler)
      if (!isRecording()) filler.dispose()
    }
    return this
  }

  // ---- life

  /** Frees it now. Using it afterwards is an error that says so. */
  dispose(): void {
    release(this)
  }

  [Symbol.dispose](): void {
    this.dispose()
  }

  override toString(): string {
    if (this.ref === 0) return 'Tensor(disposed)'
    if (this.ref < 0) return 'Tensor(recorded)'
    const { dtypeCode, device, shape } = this.meta()
    return `Tensor(${dtypeName(dtypeCode)}[${shape.join(', ')}] on ${device})`
  }

  /** What console.log shows. */
  [inspect.custom](): string {
    return this.toString()
  }
}

setTensorClass(ref => new Tensor(ref))

/**
 * Gradients of `outputs` (scalars, or with `gradients` given) with respect to `inputs`, undefined where an input had no part.
 * Nothing is accumulated.
 */
export function gradients(
  outputs: readonly Tensor[],
  inputs: readonly Tensor[],
  options: { gradients?: readonly Tensor[]; retainGraph?: boolean; createGraph?: boolean } = {},
): (Tensor | undefined)[] {
  const lists = [outputs, inputs, options.gradients ?? []].map(list => Array.from(list, tensor => handleOf(tensor)))
  const box = mailbox(lists.reduce((sum, list) => sum + 1 + list.length, 0))
  let at = 0
  for (const list of lists) {
    box[at++] = list.length
    for (const ref of list) box[at++] = ref
  }
  try {
    const create = options.createGraph ?? false
    const count = -native.gradients(options.retainGraph ?? create, create)
    return readResults(count)
  } catch (thrown) {
    throw fromNative(thrown)
  }
}

function handleOf(tensor: unknown): number {
  if (!(tensor instanceof Tensor)) throw new ArgumentError('gradients() takes lists of tensors')
  if (tensor.ref < 0) throw new ArgumentError('gradients() is not recorded; use backward() and grad inside a program')
  return tensor.ref
}

function readResults(count: number): (Tensor | undefined)[] {
  const box = mailbox()
  const found: (Tensor | undefined)[] = []
  let at = 0
  for (let i = 0; i < count; i++) {
    if (box[at++] === 1) found.push(undefined)
    else found.push(Tensor.adopt(box[at++]!))
  }
  return found
}

function flattenNested(data: NestedNumbers): { array: TypedArray; shape: number[]; dtype: DType } {
  const shape: number[] = []
  for (let level: NestedNumbers = data; Array.isArray(level); level = level[0] as NestedNumbers) {
    shape.push(level.length)
    if (shape.length > 64) throw new ArgumentError('nested arrays of more than 64 levels')
    if (level.length === 0) break
  }
  const flat: (number | bigint | boolean)[] = []
  const visit = (value: NestedNumbers, dim: number): void => {
    if (Array.isArray(value)) {
      if (value.length !== shape[dim])
        throw new ArgumentError(`nested arrays of unequal length: ${value.length} beside ${shape[dim] ?? 'a number'}`)
      for (const item of value) visit(item as NestedNumbers, dim + 1)
      return
    }
    if (dim !== shape.length) throw new ArgumentError('nested arrays of unequal depth')
    if (typeof value !== 'number' && typeof value !== 'bigint' && typeof value !== 'boolean')
      throw new ArgumentError(`a tensor is made of numbers, got ${value === null ? 'null' : typeof value}`)
    flat.push(value)
  }
  visit(data, 0)
  const kind = typeof (flat[0] ?? 0)
  if (flat.some(value => typeof value !== kind))
    throw new ArgumentError('numbers, bigints and booleans cannot be mixed in one tensor')
  if (kind === 'bigint') return { array: BigInt64Array.from(flat as bigint[]), shape, dtype: 'int64' }
  if (kind === 'boolean') return { array: Uint8Array.from(flat as boolean[], Number), shape, dtype: 'bool' }
  // float64 on the way, so that an integer dtype asked for gets its exact value.
  return { array: Float64Array.from(flat as number[]), shape, dtype: 'float64' }
}
