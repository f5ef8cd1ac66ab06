/** The update of 16-bit parameters, on CUDA by a kernel, against libtorch's fused operator in float64. */
import { describe, expect, test } from 'vitest'
import { AdamW, manualSeed, randn } from '../../src/tensor/index.js'
import { device, onCuda, relativeError } from '../support/device.js'

manualSeed(5)
const options = { lr: 0.01, betas: [0.9, 0.95] as [number, number], eps: 1e-8, weightDecay: 0.1 }

describe.each(['float16', 'bfloat16'] as const)('AdamW in %s', dtype => {
  test.each([1, 7, 8, 4099, ...(onCuda ? [896 * 512] : [])])('of %i numbers', async count => {
    const parameter = randn([count], { dtype: 'float64' }).to(device, dtype)
    const exact = parameter.to('cpu', 'float64')
    for (const tensor of [parameter, exact]) tensor.requiresGrad = true
    const ours = new AdamW([{ parameters: new Map([['w', parameter]]), ...options }])
    const theirs = new AdamW([{ parameters: new Map([['w', exact]]), ...options }])
    for (let step = 0; step < 5; step++) {
      const gradient = randn([count]).cast(dtype)
      parameter.grad = gradient.to(device)
      exact.grad = gradient.cast('float64')
      await ours.step({ clipNorm: 0.5 })
      await theirs.step({ clipNorm: 0.5 })
    }
    for (const key of ['w.exp_avg', 'w.exp_avg_sq'])
      expect(relativeError(ours.state().get(key)!, theirs.state().get(key)!), key).toBeLessThan(1e-5)
    const master = ours.state().get('w.master')!
    expect(relativeError(master, exact.detach()), 'the float32 copy').toBeLessThan(1e-5)
    // The parameter is its copy, rounded.
    expect(relativeError(parameter.detach(), master.to('cpu', dtype).cast('float64'))).toBe(0)
  })
})
