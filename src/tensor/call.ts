/**
 * One operator call: values into the mailbox, one native call, results out. While a function is being recorded the same
 * values become an instruction of the program instead.
 *
 * The mailbox is a buffer of doubles shared with the bridge; `native/values.cc` reads what is written here.
 */
import { type Device, type DType, dtypeCode, parseDevice } from './dtype.js'
import { ArgumentError, fromNative } from './errors.js'
import { native, whenLoaded } from './native.js'
import { adopt } from './ownership.js'

const DEFAULT = 0
const NONE = 1
const TENSOR = 2
const NUMBER = 3
const BOOL = 4
const STRING = 5
const LIST = 6
const BIGINT = 7
const GENERATOR = 8
const DEVICE = 9
const SLOT = 10

/**
 * What a tensor or a recorded number is to the bridge. Positive: a native handle. Negative: a value of the recording under
 * way. Zero: disposed.
 */
export class Ref {
  constructor(
    /** @internal */
    public ref: number,
  ) {}
}

/** A random number generator's handle. */
export class GeneratorRef {
  constructor(
    /** @internal */
    public ref: number,
  ) {}
}

/** An integer known only when a recorded program runs: a size, or arithmetic on sizes. */
export class Sym extends Ref {
  add(other: NumberLike): Sym {
    return arithmetic('add', this, other)
  }
  sub(other: NumberLike): Sym {
    return arithmetic('sub', this, other)
  }
  mul(other: NumberLike): Sym {
    return arithmetic('mul', this, other)
  }
  /** Rounds down. */
  div(other: NumberLike): Sym {
    return arithmetic('div', this, other)
  }
  mod(other: NumberLike): Sym {
    return arithmetic('mod', this, other)
  }
}

export type NumberLike = number | Sym

/** An operator the typed methods call; bound when it is first used, so that a libtorch without it still loads. */
export interface Operator {
  readonly name: string
  readonly overload: string
  readonly names: string
  index: number
}

export function operator(name: string, overload: string, names: string): Operator {
  return { name, overload, names, index: -1 }
}

let box = new Float64Array(0)
// The bridge makes the mailbox, and a larger one where results need it.
whenLoaded(loaded =>
  loaded.mailbox(1 << 14, buffer => {
    box = new Float64Array(buffer)
  }),
)
let cursor = 0
let argument = 0
let current: Operator | undefined
/** How many recordings are open; the innermost takes the calls. */
let recordings = 0

let makeTensor: (ref: number) => Ref
/** The tensor class comes later in the module graph than the calls its methods make. */
export function setTensorClass(make: (ref: number) => Ref): void {
  makeTensor = make
}

export function isRecording(): boolean {
  return recordings > 0
}

function grow(needed: number): void {
  try {
    native.mailbox(Math.max(box.length * 2, needed))
  } catch (thrown) {
    throw fromNative(thrown)
  }
}

function badArgument(value: unknown, expected = ''): ArgumentError {
  const name = current?.names.split(',')[argument - 1] ?? `${argument - 1}`
  const got =
    value === null ? 'null' : typeof value === 'object' ? value.constructor?.name || 'an object' : `a ${typeof value}`
  return new ArgumentError(
    `${current ? fullName(current) : 'call'}: argument '${name}' ${expected || 'cannot be'} ${got}`,
  )
}

function fullName(op: Operator): string {
  return op.overload ? `${op.name}.${op.overload}` : op.name
}

function disposed(): ArgumentError {
  const name = current?.names.split(',')[argument - 1] ?? `${argument - 1}`
  return new ArgumentError(
    `${current ? `${fullName(current)}: argument '${name}' is` : 'this is'} a tensor that was disposed`,
  )
}

export function begin(op: Operator): void {
  current = op
  cursor = 0
  argument = 0
}

function put(value: unknown): void {
  if (cursor + 3 > box.length) grow(cursor + 3)
  switch (typeof value) {
    case 'undefined':
      box[cursor++] = DEFAULT
      return
    case 'number':
      box[cursor++] = NUMBER
      box[cursor++] = value
      return
    case 'boolean':
      box[cursor++] = BOOL
      box[cursor++] = value ? 1 : 0
      return
    case 'bigint':
      if (value !== BigInt.asIntN(64, value)) throw badArgument(value, 'does not fit into 64 bits:')
      box[cursor++] = BIGINT
      box[cursor++] = Number(value >> 32n)
      box[cursor++] = Number(value & 0xffffffffn)
      return
    case 'string':
      box[cursor++] = STRING
      box[cursor++] = native.intern(value)
      return
    case 'object':
      if (value === null) {
        box[cursor++] = NONE
      } else if (value instanceof Ref) {
        if (value.ref === 0) throw disposed()
        box[cursor++] = value.ref > 0 ? TENSOR : SLOT
        box[cursor++] = Math.abs(value.ref)
      } else if (recordings > 0 && wholeLists.has(value)) {
        put(wholeLists.get(value))
      } else if (Array.isArray(value)) {
        const { length } = value
        box[cursor++] = LIST
        box[cursor++] = length
        if (cursor + 3 * length > box.length) grow(cursor + 3 * length)
        for (let i = 0; i < length; i++) {
          const item: unknown = value[i]
          if (typeof item === 'number') {
            box[cursor++] = NUMBER
            box[cursor++] = item
          } else if (item === undefined || Array.isArray(item)) throw badArgument(item, 'is a list that contains')
          else put(item)
        }
      } else if (value instanceof GeneratorRef) {
        box[cursor++] = GENERATOR
        box[cursor++] = value.ref
      } else {
        throw badArgument(value)
      }
      return
    default:
      throw badArgument(value)
  }
}

/** The next argument. `undefined` asks for the schema's default. */
export function arg(value: unknown): void {
  argument++
  put(value)
}

export function argDtype(value: DType | undefined): void {
  argument++
  put(value === undefined ? undefined : dtypeCode(value))
}

export function argDevice(value: Device | undefined): void {
  argument++
  if (value === undefined) {
    put(undefined)
    return
  }
  const { type, index } = parseDevice(value)
  if (cursor + 3 > box.length) grow(cursor + 3)
  box[cursor++] = DEVICE
  box[cursor++] = type
  box[cursor++] = index
}

/** Binds the operator, unless it is bound already. */
export function bindNow(op: Operator): number {
  if (op.index < 0) op.index = native.bind(op.name.includes('::') ? op.name : `aten::${op.name}`, op.overload, op.names)
  return op.index
}

function perform(op: Operator): number {
  // A getter among the arguments that used a tensor has written over this call.
  if (current !== op) throw new ArgumentError(`${fullName(op)}: reading the arguments made another call`)
  current = undefined
  try {
    const index = op.index < 0 ? bindNow(op) : op.index
    return recordings > 0 ? -native.recordCall(index, callSite()) : native.call(index)
  } catch (thrown) {
    throw fromNative(thrown)
  }
}

/** Makes the call; one tensor comes back. */
export function toTensor(op: Operator): Ref {
  const ref = perform(op)
  if (ref > 0) return adopt(makeTensor(ref))
  if (recordings > 0) return makeTensor(ref)
  throw new ArgumentError(`${fullName(op)} returned no tensor`)
}

/** Makes the call of an operator whose result is its first argument, or that has none. */
export function toNothing(op: Operator): void {
  perform(op)
}

/** Makes the call; `count` results come back, undefined where libtorch returns no tensor. */
export function toSeveral(op: Operator, count: number): unknown[] {
  const ref = perform(op)
  if (recordings > 0) return Array.from({ length: count }, (_, i) => makeTensor(ref - i))
  return ref > 0 ? [adopt(makeTensor(ref))] : decode(box, 0, count)
}

/** Makes the call; whatever it gives comes back. */
export function resultsOf(op: Operator): unknown[] {
  const ref = perform(op)
  return ref > 0 ? [adopt(makeTensor(ref))] : decode(box, 0, -ref)
}

/** Makes the call; a list of tensors comes back. */
export function toList(op: Operator): Ref[] {
  const ref = perform(op)
  return recordings > 0 ? recordedList(makeTensor(ref)) : (decode(box, 0, 1)[0] as Ref[])
}

/** Makes the call; a number or a boolean comes back. */
export function toScalar(op: Operator): unknown {
  if (recordings > 0)
    throw new ArgumentError(`${fullName(op)} gives a plain value, which does not exist while a program is recorded`)
  perform(op)
  return decode(box, 0, 1)[0]
}

/** Tagged values out of `from`. Tensors among them belong to the current scope. */
export function decode(from: Float64Array, at: number, count: number): unknown[] {
  const values: unknown[] = []
  const one = (): unknown => {
    switch (from[at++]) {
      case TENSOR:
        return adopt(makeTensor(from[at++]!))
      case NUMBER:
        return from[at++]!
      case BOOL:
        return from[at++] !== 0
      case BIGINT:
        at += 2
        return (BigInt(from[at - 2]!) << 32n) | BigInt(from[at - 1]!)
      case LIST: {
        const length = from[at++]!
        const items: unknown[] = []
        for (let i = 0; i < length; i++) items.push(one())
        return items
      }
      default:
        return undefined
    }
  }
  for (let i = 0; i < count; i++) values.push(one())
  return values
}

/** A recorded list handed on as it is needs no picking. */
const wholeLists = new WeakMap<object, Ref>()

/** How long a recorded list is shows when the program runs; its items are picked by index or by destructuring. */
function recordedList(whole: Ref): Ref[] {
  const items: Ref[] = []
  const pick = (index: number): Ref => {
    items[index] ??= special(Code.Item, [whole, index], 1)[0] as Ref
    return items[index]
  }
  const handler: ProxyHandler<Ref[]> = {
    get(_, key) {
      if (key === Symbol.iterator) {
        return function* () {
          for (let i = 0; ; i++) yield pick(i)
        }
      }
      if (typeof key === 'string' && /^\d+$/.test(key)) return pick(Number(key))
      throw new ArgumentError('the length of a list is not known while a program is recorded; take its items by index')
    },
  }
  const proxy = new Proxy(items, handler)
  wholeLists.set(proxy, whole)
  return proxy
}

// ---- instructions that are not operators

/** As `Code` in native/bridge.h. */
export enum Code {
  Size = 1,
  Arith,
  Backward,
  Gradient,
  GradMode,
  Item,
  Kernel,
  Custom,
  Checkpoint,
  SetGradient,
}

/** Performs, or records, an instruction. `results` says how many values a recorded one will have. */
export function special(code: Code, values: readonly unknown[], results: number, first = 0, second = 0): unknown[] {
  writeValues(values)
  try {
    const ref = native.special(code, values.length, results, recordings > 0 ? callSite() : '', first, second)
    if (recordings > 0) return Array.from({ length: results }, (_, i) => makeTensor(-ref - i))
    return ref > 0 ? [adopt(makeTensor(ref))] : decode(box, 0, -ref)
  } catch (thrown) {
    throw fromNative(thrown)
  }
}

/** Puts values without a schema into the mailbox. */
export function writeValues(values: readonly unknown[]): void {
  current = undefined
  cursor = 0
  argument = 0
  for (const value of values) arg(value)
}

/** The mailbox as it is now; a later call may replace it. */
export function mailbox(atLeast = 1): Float64Array {
  current = undefined
  if (box.length < atLeast) grow(atLeast)
  return box
}

function arithmetic(what: string, a: NumberLike, b: NumberLike): Sym {
  return new Sym((special(Code.Arith, [what, a, b], 1)[0] as Ref).ref)
}

/** Runs `body` with its calls going into a new program; returns the program's handle and what `body` returned. */
export function recordInto<T>(
  inputs: number,
  body: (first: number) => { outputs: readonly Ref[]; result: T },
): { program: number; result: T } {
  const first = -native.beginRecording(inputs)
  recordings++
  try {
    const { outputs, result } = body(first)
    writeValues(outputs)
    const program = native.endRecording(outputs.length)
    recordings--
    return { program, result }
  } catch (thrown) {
    recordings--
    native.abandonRecording()
    throw fromNative(thrown)
  }
}

const room = new URL('.', import.meta.url).href
const roomPath = decodeURIComponent(new URL('.', import.meta.url).pathname)

const isHere = (place: string): boolean => place.startsWith(room) || place.startsWith(roomPath)
/** What the stack of an error says of a place in the compiled code: source maps are looked up once. */
const places = new Map<string, string>()

/** The line outside this folder that made the call. Taken only while recording, which happens once per program. */
function callSite(): string {
  const limit = Error.stackTraceLimit
  Error.stackTraceLimit = 16
  try {
    const place = compiledPlace()
    let printed = places.get(place)
    if (printed === undefined) {
      printed = printedPlace(new Error().stack ?? '')
      places.set(place, printed)
    }
    return printed
  } finally {
    Error.stackTraceLimit = limit
  }
}

function compiledPlace(): string {
  const { prepareStackTrace } = Error
  Error.prepareStackTrace = (_, sites) => sites
  try {
    for (const site of new Error().stack as unknown as NodeJS.CallSite[]) {
      const file = site.getFileName()
      if (file && !file.startsWith('node:') && !isHere(file))
        return `${file}:${site.getLineNumber()}:${site.getColumnNumber()}`
    }
    return ''
  } finally {
    Error.prepareStackTrace = prepareStackTrace
  }
}

function printedPlace(stack: string): string {
  for (const line of stack.split('\n').slice(1)) {
    const place = /(?:\(|at (?:async )?)((?:file:\/\/)?\/.*:\d+:\d+)\)?$/.exec(line)?.[1]
    if (place && !isHere(place)) return place
  }
  return ''
}
