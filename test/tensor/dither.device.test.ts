/** Masters on a device: the bits of the CPU's, which dither.test.ts holds against the cells. */
import { describe, expect, test } from 'vitest'
import { AdamW, dither, manualSeed, randn, scope, Tensor } from '../../src/tensor/index.js'
import { device } from '../support/device.js'

async function mastersOf(weight: Tensor, name: string): Promise<Float32Array> {
  const master = scope(() => {
    const made = weight.toCopy({ dtype: 'float32' })
    dither(weight, made, { seed: 5, name })
    return made.to('cpu')
  })
  const numbers = Float32Array.from((await master.data()) as Float32Array)
  master.dispose()
  return numbers
}

describe.each(['bfloat16', 'float16'] as const)('%s', dtype => {
  test('masters have the same bits as on the CPU: every finite number, whole vectors and what is left over', async () => {
    const infinity = dtype === 'bfloat16' ? 0x7f80 : 0x7c00
    const bits = Int16Array.from({ length: 2 * infinity - 1 }, (_, i) => (i < infinity ? i : (i - infinity) | 0x8000))
    const cpu = Tensor.from(bits, { dtype: 'int16' }).viewDtype({ dtype })
    const there = cpu.toCopy({ device })
    expect(await mastersOf(there, 'w')).toEqual(await mastersOf(cpu, 'w'))
    for (const tensor of [cpu, there]) tensor.dispose()
  })

  test('the step counts what it changes', async () => {
    manualSeed(3)
    const weight = randn([1001, 37]).to(device, dtype)
    weight.requiresGrad = true
    const optimizer = new AdamW([{ parameters: new Map([['w', weight]]), lr: 1e-3 }])
    for (const lr of [1e-5, 1e-3, 1]) {
      weight.grad = randn([1001, 37]).to(device, dtype)
      const before = weight.detach().clone()
      const { changed } = await optimizer.step({ groups: [{ lr }] })
      const count = scope(() => weight.ne(before).sum().item())
      expect((await changed!) * weight.numel).toBeCloseTo(count, 6)
      expect(count).toBeGreaterThan(0)
    }
    optimizer.dispose()
    weight.dispose()
  })
})
