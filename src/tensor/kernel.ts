/**
 * CUDA kernels from source files, compiled by NVRTC when they are first launched on a device and kept on disk by source and
 * architecture. A launch is an instruction like any other: eager, inside programs, inside captured graphs.
 */
import { createHash } from 'node:crypto'
import { mkdirSync, readFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { cacheDirectory } from '../cache-directory.js'
import { Code, type NumberLike, special } from './call.js'
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

/** A number by value, or a pointer to a tensor's elements; `tensor:bfloat16` refuses any other dtype when it is launched. */
export type KernelParameter = keyof typeof letters

export interface Launch {
  grid: readonly [NumberLike, NumberLike?, NumberLike?]
  block: readonly [NumberLike, NumberLike?, NumberLike?]
  sharedBytes?: NumberLike
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
 * Tensors are contiguous and start at a multiple of 16 bytes. Whether the kernel stays inside their memory is its own affair.
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
    const parameters = options.parameters.map(parameter => letters[parameter]).join('')
    this.ref = native.newKernel(source, file, options.entry, parameters, cachePath(source))
  }

  launch(shape: Launch, ...parameters: (Tensor | NumberLike | null)[]): void {
    const [gx, gy = 1, gz = 1] = shape.grid
    const [bx, by = 1, bz = 1] = shape.block
    special(Code.Kernel, [gx, gy, gz, bx, by, bz, shape.sharedBytes ?? 0, ...parameters], 0, this.ref)
  }
}

/** What the compiler sees; its messages name the lines of the files as they are. @internal */
export function kernelSource(file: string, define: Readonly<Record<string, string | number>>): string {
  const defines = Object.entries(define).map(([name, value]) => `#define ${name} ${value}\n`)
  return `${defines.join('')}#line 1 "${basename(file)}"\n${inlineIncludes(file)}`
}

/** NVRTC knows no files: `#include "x.cuh"` of the same folder is put in place. */
function inlineIncludes(file: string): string {
  return readFileSync(file, 'utf8')
    .split('\n')
    .map((line, i) => {
      const match = /^#include "([\w.-]+)"$/.exec(line)
      if (!match) return line
      const included = join(dirname(file), match[1]!)
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
