/** Any operator libtorch knows, by name: for the many that have no typed method. */
import {
  arg,
  argDevice,
  argDtype,
  begin,
  bindNow,
  GeneratorRef,
  isRecording,
  type Operator,
  operator,
  Ref,
  resultsOf,
  toList,
  toNothing,
  toSeveral,
  toTensor,
} from './call.js'
import type { Device, DType } from './dtype.js'
import { ArgumentError, fromNative } from './errors.js'
import { native } from './native.js'

type OperatorValue = Ref | GeneratorRef | number | bigint | boolean | string | null | undefined
/** One value, a list of them, or, as the last argument, values by their names in the schema. */
type OperatorArgument =
  | OperatorValue
  | readonly OperatorValue[]
  | Readonly<Record<string, OperatorValue | readonly OperatorValue[]>>

/** libtorch's numbering, by the names its Python front end uses. */
const enumerations: Record<string, readonly string[]> = {
  Layout: ['strided', 'sparse_coo', 'sparse_csr', 'mkldnn', 'sparse_csc', 'sparse_bsr', 'sparse_bsc'],
  MemoryFormat: ['contiguous_format', 'preserve_format', 'channels_last', 'channels_last_3d'],
}

interface Bound {
  op: Operator
  names: readonly string[]
  types: readonly string[]
  results: readonly string[]
  /** The argument that is the result, of an in-place or `out` operator. */
  written: number
}

const bound = new Map<string, Bound>()

function bind(fullName: string): Bound {
  const known = bound.get(fullName)
  if (known) return known
  const match = /^(?:(\w+)::)?(\w+)(?:\.(\w+))?$/.exec(fullName)
  if (!match)
    throw new ArgumentError(`${JSON.stringify(fullName)} does not name an operator; expected aten::add.Tensor`)
  const [, space = 'aten', name, overload = ''] = match
  try {
    const names = native.argumentNames(`${space}::${name}`, overload)
    const op = operator(`${space}::${name}`, overload, names)
    const { types, results, written } = native.signature(bindNow(op))
    const made = { op, names: names === '' ? [] : names.split(','), types, results, written }
    bound.set(fullName, made)
    return made
  } catch (thrown) {
    throw fromNative(thrown)
  }
}

/** Whether this libtorch has an operator of that name: for what came with a later version. */
export function operatorExists(name: string): boolean {
  try {
    bind(name)
    return true
  } catch {
    return false
  }
}

function isNamed(value: unknown): value is Readonly<Record<string, unknown>> {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false
  return !(value instanceof Ref) && !(value instanceof GeneratorRef)
}

/** Arguments in the schema's order, undefined where the schema's default is meant. */
function arrange({ op, names }: Bound, given: readonly unknown[]): unknown[] {
  const values = [...given]
  const last = values.at(-1)
  const named = isNamed(last) ? last : undefined
  if (named) values.pop()
  if (values.length > names.length)
    throw new ArgumentError(`${op.name}: takes ${names.length} arguments, got ${values.length}`)
  const arranged = names.map((_, i) => values[i])
  for (const [name, value] of Object.entries(named ?? {})) {
    const at = names.indexOf(name)
    if (at < 0) throw new ArgumentError(`${op.name}: has no argument '${name}'; its arguments are ${names.join(', ')}`)
    if (at < values.length) throw new ArgumentError(`${op.name}: argument '${name}' is given twice`)
    arranged[at] = value
  }
  return arranged
}

/** Writes an argument; a string may be the name of something libtorch numbers. */
function write(type: string, value: unknown): void {
  const base = type.replace(/\?$/, '')
  if (typeof value === 'string' && base === 'ScalarType') argDtype(value as DType)
  else if (typeof value === 'string' && base === 'Device') argDevice(value as Device)
  else arg(typeof value === 'string' ? numbered(base, value) : value)
}

function numbered(type: string, name: string): string | number {
  const names = enumerations[type]
  if (!names) return name
  const code = names.indexOf(name)
  if (code < 0) throw new ArgumentError(`unknown ${type} ${JSON.stringify(name)}; expected one of ${names.join(', ')}`)
  return code
}

/**
 * Calls an operator by its name in libtorch, `aten::` unless another namespace is given, with the overload after a dot.
 * Arguments are converted by its schema: dtypes, devices, layouts and memory formats are given by name, `undefined` stands
 * for the schema's default, and a last plain object gives arguments by name. One result comes back as itself, several as an
 * array; an in-place operator gives the tensor it wrote.
 *
 * ```ts
 * const inverse = callOperator('linalg_inv', matrix) as Tensor
 * const [values, vectors] = callOperator('aten::linalg_eigh', matrix, { UPLO: 'U' }) as [Tensor, Tensor]
 * ```
 */
export function callOperator(name: string, ...args: OperatorArgument[]): unknown {
  const target = bind(name)
  const { op, types, results, written } = target
  const values = arrange(target, args)
  if (isRecording()) {
    const other = results.find(type => type !== 'Tensor' && type !== 'Tensor[]')
    if (other || (results.length > 1 && results.includes('Tensor[]')))
      throw new ArgumentError(`${op.name} gives ${other ?? 'lists'}, which does not exist while a program is recorded`)
  }
  begin(op)
  for (const [i, value] of values.entries()) write(types[i]!, value)
  if (written >= 0) {
    toNothing(op)
    return values[written]
  }
  if (results.length === 0) {
    toNothing(op)
    return undefined
  }
  if (!isRecording()) {
    const found = resultsOf(op)
    return results.length === 1 ? found[0] : found
  }
  if (results.length > 1) return toSeveral(op, results.length)
  return results[0] === 'Tensor' ? toTensor(op) : toList(op)
}
