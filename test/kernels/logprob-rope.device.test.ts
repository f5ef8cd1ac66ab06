/** The operators of a model's ends, rope and log-probabilities, against the same in float64 on the CPU. */
import { describe, expect, test } from 'vitest'
import { fusedOps } from '../../src/kernels/index.js'
import {
  type Device,
  type DType,
  gradients,
  manualSeed,
  randint,
  randn,
  record,
  type Tensor,
} from '../../src/tensor/index.js'
import { device, onCuda, relativeError, tolerance } from '../support/device.js'

manualSeed(5)
const dtypes = ['float32', 'float16', 'bfloat16'] as const
/** What is computed in float64 gets float64; the operators of a device take float32 beside any dtype. */
const wideOf = (dtype: DType): DType => (dtype === 'float64' ? 'float64' : 'float32')

describe.each(dtypes)('rope in %s', dtype => {
  const shapes: [rows: number, rotated: number, rest: number, headDim: number][] = [
    [7, 16, 2, 64],
    [5, 4, 0, 32],
    [9, 2, 1, 12],
    [513, 3, 1, 128],
  ]
  test.each(onCuda ? shapes : shapes.slice(0, 3))(
    'of %i rows, %i heads rotated and %i not, of %i',
    (rows, rotated, rest, headDim) => {
      const whole = randn([rows, (rotated + rest) * headDim], { dtype: 'float64' }).cast(dtype)
      const angles = randn([rows, headDim / 2])
      const arriving = [rotated, rest].map(heads => randn([rows, heads, headDim], { dtype: 'float64' }).cast(dtype))
      const run = (device: Device, kind: DType): Tensor[] => {
        const input = whole.to(device, kind)
        input.requiresGrad = true
        const [cos, sin] = [angles.cos(), angles.sin()].map(table => table.to(device, wideOf(kind)))
        const outputs = fusedOps({ device, dtype: kind }).rope({ rotated, rest, headDim })(input, cos!, sin!)
        const [first, second] = outputs.map((output, i) => output.mul(arriving[i]!.to(device, kind)).sum())
        return [...outputs, gradients([first!.add(second!)], [input])[0]!]
      }
      const [exact, found] = [run('cpu', 'float64'), run(device, dtype)]
      for (const [i, part] of ['rotated', 'rest', 'gradient'].entries())
        expect(relativeError(found[i]!, exact[i]!), part).toBeLessThan(tolerance[dtype])
    },
  )
})

describe.each(dtypes)('log-probabilities in %s', dtype => {
  const shapes: [rows: number, vocabSize: number, inverseTemperature: number][] = [
    [5, 320, 1],
    [7, 1003, 0.7],
    [2, 32000, 2],
    [33, 151936, 1],
  ]
  test.each(onCuda ? shapes : shapes.slice(0, 3))('of %i rows of %i, times %f', async (rows, vocabSize, scale) => {
    const logits = randn([rows, vocabSize], { dtype: 'float64' }).mul(3).cast(dtype)
    const targets = randint(0, vocabSize, [rows], { dtype: 'int64' })
    const [dLogprobs, dEntropy] = [randn([rows], { dtype: 'float64' }), randn([rows], { dtype: 'float64' })]
    const run = (device: Device, kind: DType): Promise<readonly Tensor[]> => {
      const ops = fusedOps({ device, dtype: kind }).logprobs(vocabSize)
      const program = record(['tensor', 'tensor', 'tensor', 'tensor', 'number'], (x, t, gl, ge, k) => {
        const { logprobs, entropy, normalizer } = ops.score(x, t, k)
        return [
          logprobs,
          entropy,
          ops.gradient_(x.clone(), t, k, { entropy, normalizer }, gl, ge),
          ops.gradient_(x.clone(), t, k, { entropy, normalizer }, gl, null),
        ]
      })
      const wide = wideOf(kind)
      return program.run(
        logits.to(device, kind),
        targets.to(device),
        dLogprobs.to(device, wide),
        dEntropy.to(device, wide),
        scale,
      )
    }
    const [exact, found] = [await run('cpu', 'float64'), await run(device, dtype)]
    const gradient = tolerance[dtype] + 1e-5
    for (const [i, [part, allowed]] of [
      ['log-probabilities', 1e-5] as const,
      ['entropy', 1e-5] as const,
      ['gradient', gradient] as const,
      ['gradient without entropy', gradient] as const,
    ].entries())
      expect(relativeError(found[i]!, exact[i]!), part).toBeLessThan(allowed)
  })
})
