/**
 * CUDA kernels from source files, compiled by NVRTC when they are first launched on a device and kept on disk by source and
 * architecture. A launch is an instruction like any other: eager, inside programs, inside captured graphs.
 */
import { createHash } from 'node:crypto'
import { mkdirSync, readFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { cacheDirectory } from './cache.js'
import { Code, type NumberLike, special } from './call.js'
import { TensorError } from './errors.js'
import { native } from './native.js'
import type { Tensor } from './tensor.js'

const letters = { tensor: 't', int32: 'i', int64: 'l', float32: 'f', float64: 'd' } as const

export type KernelParameter = keyof typeof letters

export interface Launch {
  grid: readonly [NumberLike, NumberLike?, NumberLike?]
  block: readonly [NumberLike, NumberLike?, NumberLike?]
  sharedBytes?: NumberLike
}

/**
 * ```ts
 * const swiglu = new Kernel({ file: new URL('./swiglu.cu', import.meta.url), entry: 'swiglu_bf16', parameters: ['tensor', 'tensor', 'int64'] })
 * swiglu.launch({ grid: [1024], block: [256] }, x, y, n)
 * ```
 */
export class Kernel {
  private readonly entry: string
  private readonly file: string
  private readonly source: string
  private readonly ref: number

  constructor(options: {
    file: URL
    entry: string
    parameters: readonly KernelParameter[]
    define?: Readonly<Record<string, string | number>>
  }) {
    this.entry = options.entry
    this.file = fileURLToPath(options.file)
    const defines = Object.entries(options.define ?? {}).map(([name, value]) => `#define ${name} ${value}\n`)
    // Included text keeps its own line numbers in messages through #line.
    const text = inlineIncludes(this.file)
    this.source = `${defines.join('')}#line 1 "${basename(this.file)}"\n${text}`
    const key = createHash('sha256').update(this.source).digest('hex').slice(0, 32)
    const directory = join(cacheDirectory(), 'kernels')
    mkdirSync(directory, { recursive: true })
    const parameters = options.parameters.map(parameter => letters[parameter]).join('')
    this.ref = native.newKernel(this.source, basename(this.file), this.entry, parameters, join(directory, key))
  }

  launch(shape: Launch, ...parameters: (Tensor | NumberLike | null)[]): void {
    const [gx, gy = 1, gz = 1] = shape.grid
    const [bx, by = 1, bz = 1] = shape.block
    try {
      special(Code.Kernel, [gx, gy, gz, bx, by, bz, shape.sharedBytes ?? 0, ...parameters], 0, this.ref)
    } catch (thrown) {
      throw this.explain(thrown)
    }
  }

  /** A compiler's message with the line it speaks of. */
  private explain(thrown: unknown): unknown {
    if (!(thrown instanceof TensorError)) return thrown
    const at = new RegExp(`${basename(this.file).replaceAll('.', '\\.')}\\((\\d+)\\)`).exec(thrown.message)
    const line = at && readFileSync(this.file, 'utf8').split('\n')[Number(at[1]) - 1]
    return line
      ? new TensorError(`${thrown.message}\n${this.file}:${at[1]}: ${line.trim()}`, { cause: thrown })
      : thrown
  }
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
