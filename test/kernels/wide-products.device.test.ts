/** Kernels that join a matrix product with what follows it: those of libtorch's product and ours behind it, but for the order of sums. */
import { describe, expect, test } from 'vitest'
import { fusedOps, gatedLinearKernel, splitKLinearExists, splitKLinearKernel } from '../../src/kernels/index.js'
import { linear, manualSeed, randn, record, scope, synchronize, type Tensor } from '../../src/tensor/index.js'
import {
  card,
  describeCuda,
  describeHopper,
  device,
  poison,
  relativeError,
  tolerance,
  worstError,
} from '../support/device.js'

manualSeed(11)

const make = (dtype: 'bfloat16' | 'float16', shape: readonly number[], summed = 1): Tensor =>
  scope(() => randn(shape, { device }).div(Math.sqrt(summed)).cast(dtype))

describeHopper('SwiGLU inside its product', () => {
  test.each([
    [3000, 896, 4864],
    [33000, 896, 4864],
    [1, 64, 8],
    [130, 136, 328],
    [1500, 2048, 8192],
  ])('of %i rows, %i to %i', async (rows, hidden, intermediate) => {
    const gated = gatedLinearKernel(card!.multiprocessors)
    const { swiglu } = fusedOps({ device, dtype: 'bfloat16' })
    const [x, weight] = [make('bfloat16', [rows, hidden]), make('bfloat16', [2 * intermediate, hidden], hidden)]
    const expected = scope(() => swiglu(linear(x, weight)))
    poison([expected])
    const first = gated(x, weight)
    expect(worstError(first, expected)).toBeLessThan(tolerance.bfloat16)
    const program = record(['tensor'], given => gated(given, weight))
    for (const found of [gated(x, weight), await program.run(x)]) expect(found.equal(first)).toBe(true)
    program.dispose()
    for (const tensor of [x, weight, expected, first]) tensor.dispose()
  })
})

describeCuda('a product in parts, summed where it is normed', () => {
  test('exists in this libtorch', () => {
    expect(splitKLinearExists()).toBe(true)
  })

  describe.each(['bfloat16', 'float16'] as const)('%s', dtype => {
    test.each<[rows: number, hidden: number, inner: number, parts: number, bias: 'with' | 'without']>([
      [64, 896, 4864, 8, 'without'],
      [1, 896, 896, 4, 'with'],
      [257, 896, 4864, 4, 'without'],
      [7, 4096, 2048, 2, 'with'],
    ])('of %i rows to %i from %i in %i parts, %s a bias', async (rows, hidden, inner, parts, biased) => {
      const weight = make(dtype, [hidden, inner], inner)
      const [x, residual, norm] = [make(dtype, [rows, inner]), make(dtype, [rows, hidden]), make(dtype, [hidden])]
      const bias = biased === 'with' ? make(dtype, [hidden]) : null
      const found = splitKLinearKernel(dtype, hidden, parts)(rows, x, weight, bias, residual, norm, 1e-6)
      await synchronize()
      const wide = (tensor: Tensor): Tensor => tensor.to('cpu', 'float64')
      const product = linear(wide(x), wide(weight), bias && wide(bias))
      const exactOps = fusedOps({ device: 'cpu', dtype: 'float64' })
      const exact = exactOps.addRmsNorm(product, wide(residual), wide(norm), 1e-6)
      for (const [i, part] of ['norm', 'sum'].entries())
        expect(relativeError(found[i]!, exact[i]!), part).toBeLessThan(tolerance[dtype])
    })
  })
})
