import { expect, test } from 'vitest'
import { cat, checkpoint, customFunction, memoryUse, noGrad, randn, record, scope, Tensor, dropout, manualSeed, gradients } from '../../src/tensor/index.js'

test('eager, autograd', () => {
  const a = Tensor.from([[1, 2], [3, 4]], { requiresGrad: true })
  a.mul(a).sum().backward()
  expect(a.grad?.tolist()).toEqual([[2, 4], [6, 8]])
  expect(a.at(1, [0, 1]).tolist()).toEqual([3])
  expect(() => a.matmul(Tensor.from([1, 2, 3]))).toThrow(/aten::matmul.*self: Float\[2, 2\] cpu/s)
})
test('programs', async () => {
  const w = Tensor.from([[1, 2], [3, 4]], { requiresGrad: true })
  const p = record(['tensor', 'number'], (x, n) => {
    const y = x.matmul(w).mul(n)
    y.sum().backward()
    const [a, b] = noGrad(() => cat([y, y]).split(x.size(0) as never, 0))
    return [y, a!, b!, w.grad!]
  })
  const x = Tensor.from([[1, 1]])
  const [y, a, , g] = await p.run(x, 2)
  expect(y.tolist()).toEqual([[8, 12]])
  expect(a!.tolist()).toEqual([[8, 12]])
  expect(g!.tolist()).toEqual([[2, 2], [2, 2]])
  const bad = record(['tensor'], x => x.matmul(w))
  await expect(bad.run(Tensor.from([[1, 2, 3]]))).rejects.toThrow(/smoke.test.ts:\d+/)
})
test('custom and checkpoint', () => {
  const square = customFunction({
    inputs: ['tensor', 'number'],
    forward: (x, k) => ({ outputs: x.mul(x).mul(k), saved: [x] }),
    backward: ({ saved: [x], gradients: [g], numbers: [k] }) => [x!.mul(g!).mul(2).mul(k!)],
  })
  const x = Tensor.from([1, 2, 3], { requiresGrad: true })
  square(x, 3).sum().backward()
  expect(x.grad?.tolist()).toEqual([6, 12, 18])
  const w = Tensor.from([2, 2, 2], { requiresGrad: true })
  manualSeed(3)
  const c = checkpoint(['tensor'], x => dropout(x.mul(w).sin(), 0.5, { train: true }).exp())
  const y = c(x)
  const [gx, gw] = gradients([y.sum()], [x, w])
  manualSeed(3)
  const [hx, hw] = gradients([dropout(x.mul(w).sin(), 0.5, { train: true }).exp().sum()], [x, w])
  expect(gx!.tolist()).toEqual(hx!.tolist())
  expect(gw!.tolist()).toEqual(hw!.tolist())
})
test('scopes', () => {
  const before = memoryUse().liveTensors
  const k = scope(() => { const a = randn([3]); return a.add(1).mul(2) })
  expect(memoryUse().liveTensors).toBe(before + 1)
  k.dispose()
  expect(() => k.add(1)).toThrow(/disposed/)
})
