import { decode, headWeight, ropeTables } from '../../src/decoder/index.js'
import type { WrittenType } from '../../src/gguf/quantize.js'
import type { LocalModel } from '../../src/model/index.js'
import { linear, noGrad, scope, Tensor } from '../../src/tensor/index.js'

/** llama.cpp multiplies a matrix of a type with numbers of this one: what goes in is rounded to it first. */
const inputTypes = { f32: 'f32', f16: 'f16', bf16: 'bf16', q8_0: 'q8_0', q4_0: 'q8_0' } as const

const through = (x: Tensor, dtype: 'float16' | 'bfloat16'): Tensor => x.toCopy({ dtype }).toCopy({ dtype: 'float32' })

const roundings: Readonly<Record<(typeof inputTypes)[WrittenType], (x: Tensor) => Tensor>> = {
  f32: x => x,
  f16: x => through(x, 'float16'),
  bf16: x => through(x, 'bfloat16'),
  q8_0: x => {
    // The exporter writes matrices whose rows are no multiple of a block as f16.
    if (x.shape.at(-1)! % 32 !== 0) return through(x, 'float16')
    const blocks = x.reshape([-1, 32])
    const largest = blocks.abs().amax(1, { keepdim: true }).clamp(1e-30)
    const levels = blocks.div(largest.div(127)).round()
    return levels.mul(through(largest.div(127), 'float16')).reshape(x.shape)
  },
}

/**
 * Log-probabilities of every token behind each token of a sequence, `[ids, vocabulary]`: by this model's own layers, with what goes into
 * each matrix rounded as llama.cpp rounds it for a file of this type.
 */
export function logprobsAsLlamaCpp(
  model: LocalModel<'language'>,
  type: WrittenType,
  ids: readonly number[],
): Float32Array {
  const { parts } = model
  const rounded = roundings[inputTypes[type]]
  const ops = {
    ...parts.ops,
    linear: (x: Tensor, weight: Tensor, bias: Tensor | null) => linear(rounded(x), weight, bias),
  }
  return noGrad(() =>
    scope(() => {
      const { cos, sin } = ropeTables(parts.config, ids.length, 'cpu')
      const places = { cos, sin, rows: { kind: 'uniform', length: ids.length } as const }
      const hidden = decode(
        { ...parts, ops, deferred: undefined, gradients: 'none' },
        Tensor.from(Int32Array.from(ids)),
        places,
      )
      const bytes = linear(rounded(hidden), headWeight(parts)).logSoftmax(1).contiguous().bytes()
      return new Float32Array(bytes.buffer, bytes.byteOffset, bytes.length / 4).slice()
    }),
  )
}
