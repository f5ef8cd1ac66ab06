/**
 * CUDA kernels from source files, compiled by NVRTC when they are first launched on a device and kept on disk by source and
 * architecture. A launch is an instruction like any other: eager, inside programs, inside captured graphs.
 */
import { createHash } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { cacheDirectory } from '../files/index.js'
import { Code, type NumberLike, special } from './call.js'
import { ArgumentError } from './errors.js'
import { native } from './native.js'
import type { Tensor } from './tensor.js'

const letters = {
  int32: 'i',
  int64: 'l',
  float32: 'f',
  float64: 'd',
  tensor: 't',
  'tensor:float32': 'F',
  'tensor:float16': 'H',
  'tensor:bfloat16': 'B',
  'tensor:float64': 'D',
  'tensor:int32': 'I',
  'tensor:int64': 'L',
  'tensor:uint8': 'U',
  'tensor:bool': 'O',
} as const

/**
 * A tensor that the kernel reads or writes tile by tile with Hopper's bulk copies: `const __grid_constant__ TensorMap`, where
 * `struct alignas(64) TensorMap { unsigned long long opaque[16]; }`. It is a map of the tensor as it is when launched, views
 * and permutations included: the last dimension has stride 1, the other strides are multiples of 16 bytes.
 */
interface Tiles {
  tiles: 'bfloat16' | 'float16'
  /**
   * How much of each dimension a copy moves, outermost first (the coordinates of the instruction come innermost first). The
   * last is 64: rows of 128 bytes, which lie in shared memory in the 128-byte swizzle. Outside the tensor are zeros.
   */
  box: readonly number[]
}

/**
 * A number by value, or a pointer to a tensor's elements; `tensor:bfloat16` refuses any other dtype when it is launched. Or a
 * map of a tensor's tiles.
 */
export type KernelParameter = keyof typeof letters | Tiles

export interface Launch {
  grid: readonly [NumberLike, NumberLike?, NumberLike?]
  block: readonly [NumberLike, NumberLike?, NumberLike?]
  sharedBytes?: NumberLike
  /** Blocks that run together and reach each other's shared memory: at most 8, from compute capability 9.0 on. */
  cluster?: readonly [number, number?, number?]
  /**
   * The kernel may start while the one in front of it in the stream still runs. All its threads wait (`griddepcontrol.wait`)
   * before they read what earlier kernels wrote or write what those may still read; and they wait in any case, because the
   * kernel behind counts on it. Ignored below compute capability 9.0, where the source leaves the instruction out.
   */
  overlap?: boolean
}

/**
 * ```ts
 * const swiglu = new Kernel({
 *   file: new URL('./swiglu.cu', import.meta.url),
 *   entry: 'swiglu',
 *   parameters: ['tensor:bfloat16', 'tensor:bfloat16', 'int64'],
 * })
 * swiglu.launch({ grid: [1024], block: [256] }, x, y, n)
 * ```
 *
 * Tensors are contiguous, but for those in tiles, and start at a multiple of 16 bytes. Whether the kernel stays inside their
 * memory is its own affair.
 */
export class Kernel {
  private readonly ref: number

  constructor(options: {
    file: URL
    entry: string
    parameters: readonly KernelParameter[]
    /** Put in front of the source as `#define`. */
    define?: Readonly<Record<string, string | number>>
  }) {
    const file = fileURLToPath(options.file)
    const source = kernelSource(file, options.define ?? {})
    const parameters = options.parameters.map(encodeParameter).join('')
    this.ref = native.newKernel(source, file, options.entry, parameters, cachePath(source))
  }

  launch(shape: Launch, ...parameters: (Tensor | NumberLike | null)[]): void {
    const [gx, gy = 1, gz = 1] = shape.grid
    const [bx, by = 1, bz = 1] = shape.block
    const [cx, cy = 1, cz = 1] = shape.cluster ?? [1]
    const overlap = shape.overlap ? 1 : 0
    const head = [gx, gy, gz, bx, by, bz, shape.sharedBytes ?? 0, cx, cy, cz, overlap]
    special(Code.Kernel, [...head, ...parameters], 0, this.ref)
  }
}

/** As `readParameters` in native/kernel.cc takes them. */
function encodeParameter(parameter: KernelParameter): string {
  if (typeof parameter === 'string') return letters[parameter]
  const { tiles, box } = parameter
  const whole = box.every(length => Number.isInteger(length) && length >= 1 && length <= 256)
  if (!whole || box.length < 1 || box.length > 5 || box.at(-1) !== 64) {
    throw new ArgumentError(
      `a box of tiles has 1 to 5 dimensions of 1 to 256 elements, the last of 64 (128 bytes), got [${box.join(', ')}]`,
    )
  }
  return `${tiles === 'bfloat16' ? 'b' : 'h'}${box.join(',')};`
}

/** What the compiler sees; its messages name the lines of the files as they are. @internal */
export function kernelSource(file: string, define: Readonly<Record<string, string | number>>): string {
  const defines = Object.entries(define).map(([name, value]) => `#define ${name} ${value}\n`)
  return `${defines.join('')}#line 1 "${basename(file)}"\n${inlineIncludes(file)}`
}

/** NVRTC knows no files: `#include "x.cuh"` of the same folder is put in place, or of this one, where prelude.cuh is. */
function inlineIncludes(file: string): string {
  return readFileSync(file, 'utf8')
    .split('\n')
    .map((line, i) => {
      const match = /^#include "([\w.-]+)"$/.exec(line)
      if (!match) return line
      const beside = join(dirname(file), match[1]!)
      const shared = fileURLToPath(new URL(match[1]!, import.meta.url))
      const included = existsSync(shared) && !existsSync(beside) ? shared : beside
      return `#line 1 "${match[1]}"\n${readFileSync(included, 'utf8')}\n#line ${i + 2} "${basename(file)}"`
    })
    .join('\n')
}

/** Where compiled code of this source is kept, without the architecture; empty where nothing can be kept. */
function cachePath(source: string): string {
  const directory = join(cacheDirectory(), 'kernels')
  try {
    mkdirSync(directory, { recursive: true })
  } catch {
    return ''
  }
  return join(directory, createHash('sha256').update(source).digest('hex').slice(0, 32))
}
