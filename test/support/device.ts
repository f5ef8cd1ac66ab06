import { describe, test } from 'vitest'
import { backend, type Device, scope, type Tensor } from '../../src/tensor/index.js'

/**
 * Where the files `*.device.test.ts` run: on the CPU with all other tests, on CUDA by `npm run test:cuda`. What only one of the
 * two can show is a `describeCuda`.
 */
export const device: Device = process.env.WHETSTONE_TEST_DEVICE === 'cuda' ? 'cuda' : 'cpu'
export const onCuda = device === 'cuda'

if (onCuda && !backend().cuda.available)
  throw new Error('WHETSTONE_TEST_DEVICE is cuda, but this libtorch sees no CUDA device')

/** The card, where there is one. */
export const card = onCuda ? backend().cuda.devices[0] : undefined
/** Some kernels are written for compute capability 9.x alone. */
export const onHopper = Math.floor(Number(card?.capability ?? 0)) === 9

/** Tests that need a CUDA device; elsewhere one skipped test says so. */
export function describeCuda(name: string, body: () => void): void {
  group(name, { holds: onCuda, needs: 'a CUDA device' }, body)
}

/** Tests of kernels for Hopper. */
export function describeHopper(name: string, body: () => void): void {
  group(name, { holds: onHopper, needs: 'a CUDA device of compute capability 9' }, body)
}

function group(name: string, { holds, needs }: { holds: boolean; needs: string }, body: () => void): void {
  describe(name, () => {
    if (holds) body()
    else test.skip(`not run: needs ${needs} (npm run test:cuda)`, () => {})
  })
}

/** ‖found − exact‖ / ‖exact‖ of a few roundings of each dtype. */
export const tolerance = { float32: 2e-6, float16: 2e-3, bfloat16: 1.5e-2 } as const

/** ‖found − exact‖ / ‖exact‖ */
export function relativeError(found: Tensor, exact: Tensor): number {
  if (found.numel === 0) return 0
  return scope(() => found.to('cpu', 'float64').sub(exact).norm().item() / Math.max(exact.norm().item(), 1e-300))
}

/** The largest distance, as a share of the largest number: one wrong tile among thousands hardly shows in the norm of them all. */
export function worstError(found: Tensor, exact: Tensor): number {
  return scope(() => {
    const [a, b] = [found.cast('float64'), exact.cast('float64')]
    return a.sub(b).abs().amax().item() / b.abs().amax().item()
  })
}

/** Fills the allocator's free blocks of these sizes with NaN: a result that was not written shows. */
export function poison(tensors: readonly Tensor[]): void {
  for (const tensor of tensors) tensor.fullLike(Number.NaN).dispose()
}
