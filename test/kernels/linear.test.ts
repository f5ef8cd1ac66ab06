import { expect, test } from 'vitest'
import { fusedOps } from '../../src/kernels/index.js'
import { gradients, linear, manualSeed, randn, type Tensor } from '../../src/tensor/index.js'

function distance(a: Tensor, b: Tensor): number {
  return a.sub(b).abs().amax().item()
}

test.each([false, true])(
  'a linear map and its gradients are those of aten::linear, whichever library computes them (bias %s)',
  biased => {
    manualSeed(3)
    const ops = fusedOps({ device: 'cpu', dtype: 'float32' })
    const [x, weight, bias] = [randn([37, 24]), randn([40, 24]), randn([40])]
    const inputs = biased ? [x, weight, bias] : [x, weight]
    for (const tensor of inputs) tensor.requiresGrad = true
    const arriving = randn([37, 40])
    const [ours, theirs] = [ops.linear(x, weight, biased ? bias : null), linear(x, weight, biased ? bias : null)]
    expect(distance(ours, theirs)).toBeLessThan(1e-4)
    expect(distance(ops.product(x.detach(), weight.detach()), linear(x, weight).detach())).toBeLessThan(1e-4)
    const [mine, plain] = [ours, theirs].map(out => gradients([out], inputs, { gradients: [arriving] }))
    for (const [i, gradient] of mine!.entries()) expect(distance(gradient!, plain![i]!)).toBeLessThan(1e-4)
  },
)

test('a frozen weight gets no gradient', () => {
  const ops = fusedOps({ device: 'cpu', dtype: 'float32' })
  const [x, weight] = [randn([5, 8]), randn([3, 8])]
  x.requiresGrad = true
  ops.linear(x, weight, null).sum().backward()
  expect(weight.grad).toBeUndefined()
  expect(x.grad?.shape).toEqual([5, 8])
})
