import { mkdtempSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import { describe, expect, test } from 'vitest'
import { type FusedOps, fusedOps } from '../../src/kernels/index.js'
import { fits, threadsOfRow } from '../../src/kernels/rms-norm.js'
import {
  ArgumentError,
  backend,
  checkpoint,
  gradients,
  Kernel,
  type KernelParameter,
  type Launch,
  memoryUse,
  RandomGenerator,
  randn,
  record,
  scope,
  Tensor,
} from '../../src/tensor/index.js'
import { kernelSource } from '../../src/tensor/kernel.js'

process.env.WHETSTONE_CACHE = mkdtempSync(join(tmpdir(), 'whetstone-kernels-'))

const EPS = 1e-5
const exact = fusedOps({ device: 'cpu', dtype: 'float64' })
const generator = new RandomGenerator({ seed: 11 })

function normal(...shape: number[]): Tensor {
  const x = randn(shape, { generator, dtype: 'float64' })
  x.requiresGrad = true
  return x
}

/** The largest difference between two tensors of one shape. */
function distance(a: Tensor, b: Tensor): number {
  expect(a.shape).toEqual(b.shape)
  return a.numel === 0 ? 0 : scope(() => a.detach().to('cpu', 'float64').sub(b.detach()).abs().amax([]).item())
}

interface Case {
  inputs: () => Tensor[]
  fused: (ops: FusedOps, inputs: Tensor[]) => readonly Tensor[]
  plain: (inputs: Tensor[]) => Tensor[]
}

const plainNorm = (x: Tensor, weight: Tensor): Tensor =>
  x.mul(x.square().mean(-1, { keepdim: true }).add(EPS).rsqrt()).mul(weight)
const plainSwiglu = (x: Tensor): Tensor => {
  const [gate, up] = x.chunk(2, -1) as [Tensor, Tensor]
  return gate.mul(gate.sigmoid()).mul(up)
}

const cases: Record<string, Case> = {
  rmsNorm: {
    inputs: () => [normal(5, 12), normal(12)],
    fused: (ops, [x, weight]) => [ops.rmsNorm(x!, weight!, EPS)],
    plain: ([x, weight]) => [plainNorm(x!, weight!)],
  },
  'rmsNorm of heads': {
    inputs: () => [normal(3, 2, 4, 8), normal(8)],
    fused: (ops, [x, weight]) => [ops.rmsNorm(x!, weight!, EPS)],
    plain: ([x, weight]) => [plainNorm(x!, weight!)],
  },
  addRmsNorm: {
    inputs: () => [normal(7, 16), normal(7, 16), normal(16)],
    fused: (ops, [x, residual, weight]) => ops.addRmsNorm(x!, residual!, weight!, EPS),
    plain: ([x, residual, weight]) => {
      const sum = x!.add(residual!)
      return [plainNorm(sum, weight!), sum]
    },
  },
  swiglu: {
    inputs: () => [normal(4, 3, 10)],
    fused: (ops, [x]) => [ops.swiglu(x!)],
    plain: ([x]) => [plainSwiglu(x!)],
  },
  'of no rows': {
    inputs: () => [normal(0, 16), normal(0, 16), normal(16)],
    fused: (ops, [x, residual, weight]) => ops.addRmsNorm(x!, residual!, weight!, EPS),
    plain: ([x, residual, weight]) => {
      const sum = x!.add(residual!)
      return [plainNorm(sum, weight!), sum]
    },
  },
}

describe.each(Object.entries(cases))('%s', (_, { inputs, fused, plain }) => {
  test('gives the values and gradients of the plain composition', () => {
    const given = inputs()
    const [ours, theirs] = [fused(exact, given), plain(given)]
    const arriving = theirs.map(out => normal(...out.shape).detach())
    const found = gradients(ours, given, { gradients: arriving })
    const expected = gradients(theirs, given, { gradients: arriving })
    for (const [i, out] of theirs.entries()) expect(distance(ours[i]!, out)).toBeLessThan(1e-13)
    for (const [i, gradient] of expected.entries()) expect(distance(found[i]!, gradient!)).toBeLessThan(1e-12)
  })

  test('has the gradient that finite differences show', () => {
    const given = inputs()
    const weights = fused(exact, given).map(out => normal(...out.shape).detach())
    const loss = (): Tensor =>
      fused(exact, given)
        .map((out, i) => out.mul(weights[i]!).sum())
        .reduce((a, b) => a.add(b))
    const found = gradients([loss()], given)
    for (const [i, input] of given.entries()) {
      const along = normal(...input.shape).detach()
      const slope = scope(() => found[i]!.mul(along).sum().item())
      const at = (step: number): number =>
        scope(() => {
          const moved = given.map((t, j) => (j === i ? t.detach().add(along, { alpha: step }) : t.detach()))
          return fused(exact, moved)
            .map((out, k) => out.mul(weights[k]!).sum().item())
            .reduce((a, b) => a + b)
        })
      expect((at(1e-5) - at(-1e-5)) / 2e-5).toBeCloseTo(slope, 6)
    }
  })

  test('gives the same bits in a program and in a checkpoint', async () => {
    const given = inputs()
    const whole = (tensors: Tensor[]): Tensor =>
      fused(exact, tensors)
        .map(out => out.mul(out).sum())
        .reduce((a, b) => a.add(b))
    const expected = gradients([whole(given)], given)
    const program = record([], () => {
      for (const t of given) t.grad = undefined
      whole(given).backward()
      return given.map(t => t.grad!)
    })
    const again = checkpoint(['tensor'], first => whole([first, ...given.slice(1)]))
    const ran = await program.run()
    const recomputed = gradients([again(given[0]!)], given)
    for (const [i, gradient] of expected.entries()) {
      expect(ran[i]!.equal(gradient!)).toBe(true)
      expect(recomputed[i]!.equal(gradient!)).toBe(true)
    }
  })

  test.each([
    ['float32', 1e-5],
    ['float16', 2e-2],
    ['bfloat16', 1.5e-1],
  ] as const)('in %s is near to float64', (dtype, tolerance) => {
    const given = inputs()
    const narrow = given.map(t => t.detach().cast(dtype))
    const wide = narrow.map(t => t.cast('float64'))
    for (const t of [...narrow, ...wide]) t.requiresGrad = true
    const [ours, theirs] = [fused(fusedOps({ device: 'cpu', dtype }), narrow), plain(wide)]
    const arriving = theirs.map(out =>
      normal(...out.shape)
        .detach()
        .cast(dtype),
    )
    const found = gradients(ours, narrow, { gradients: arriving })
    const expected = gradients(theirs, wide, { gradients: arriving.map(g => g.cast('float64')) })
    for (const [i, out] of theirs.entries()) {
      expect(ours[i]!.dtype).toBe(dtype)
      expect(distance(ours[i]!, out)).toBeLessThan(tolerance)
    }
    for (const [i, gradient] of expected.entries()) {
      expect(found[i]!.dtype).toBe(dtype)
      expect(distance(found[i]!, gradient!)).toBeLessThan(tolerance)
    }
  })

  test('leaves nothing behind', () => {
    const given = inputs()
    const once = (): void =>
      scope(() => {
        gradients(fused(exact, given), given, { gradients: plain(given).map(out => out.detach()) })
      })
    once()
    const before = memoryUse()
    for (let i = 0; i < 5; i++) once()
    expect(memoryUse().liveTensors).toBe(before.liveTensors)
    expect(memoryUse().bytes).toBe(before.bytes)
  })
})

test('a row depends on itself alone', () => {
  const [x, weight] = [normal(6, 8).detach(), normal(8).detach()]
  const before = exact.rmsNorm(x, weight, EPS)
  const changed = x.clone()
  changed.at(2).fill_(100)
  const after = exact.rmsNorm(changed, weight, EPS)
  for (const row of [0, 1, 3, 4, 5]) expect(after.at(row).equal(before.at(row))).toBe(true)
  expect(
    exact
      .rmsNorm(x.view([2, 3, 8]), weight, EPS)
      .view([6, 8])
      .equal(before),
  ).toBe(true)
})

describe('the choice', () => {
  test('is made once for a device and a dtype', () => {
    expect(fusedOps({ device: 'cpu', dtype: 'float32' })).toBe(fusedOps({ device: 'cpu', dtype: 'float32' }))
    expect(fusedOps({ device: 'cuda', dtype: 'float64' })).not.toBe(fusedOps({ device: 'cuda', dtype: 'float32' }))
    expect(() => fusedOps({ device: 'cpu', dtype: 'int64' })).toThrow(ArgumentError)
  })

  test('of kernels refuses tensors of the CPU and other dtypes', () => {
    const ops = fusedOps({ device: 'cuda', dtype: 'float32' })
    const weight = Tensor.from(new Float32Array(8))
    const x = Tensor.from(new Float32Array(16), { shape: [2, 8] })
    expect(() => ops.swiglu(x)).toThrow(/CUDA/)
    expect(() => ops.rmsNorm(x, weight, EPS)).toThrow(/CUDA/)
    expect(() => ops.rmsNorm(x, weight.cast('float64'), EPS)).toThrow(/float32 vector, got Tensor\(float64\[8\]/)
    expect(() => ops.rmsNorm(x, x, EPS)).toThrow(/float32 vector/)
    expect(() => record(['tensor', 'tensor'], (x, weight) => ops.rmsNorm(x, weight, EPS))).toThrow(/capture it/)
  })

  test('of kernels falls back to operators where a row is not made of whole vectors', () => {
    const ops = fusedOps({ device: 'cuda', dtype: 'float32' })
    const [x, weight] = [normal(3, 9).detach().cast('float32'), normal(9).detach().cast('float32')]
    const expected = fusedOps({ device: 'cpu', dtype: 'float32' }).rmsNorm(x, weight, EPS)
    expect(ops.rmsNorm(x, weight, EPS).equal(expected)).toBe(true)
  })

  test('of threads covers a row with a power of two', () => {
    expect([1, 2, 3, 16, 32, 33, 112, 128, 129, 512, 4096].map(threadsOfRow)).toEqual([
      1, 2, 4, 16, 32, 32, 32, 32, 64, 128, 1024,
    ])
    expect(fits(896, 'bfloat16')).toBe(true)
    expect(fits(4, 'float32')).toBe(false)
    expect(fits(32768, 'bfloat16')).toBe(true)
    expect(fits(32768, 'float32')).toBe(false)
  })
})

describe('a kernel', () => {
  const folders = ['tensor', 'kernels'].map(room => fileURLToPath(new URL(`../../src/${room}/`, import.meta.url)))

  test('source stands alone and keeps its line numbers', () => {
    const files = folders.flatMap(folder => readdirSync(folder).map(name => join(folder, name)))
    const sources = files.filter(file => file.endsWith('.cu'))
    expect(sources.map(file => basename(file))).toEqual(
      expect.arrayContaining(['adamw.cu', 'rms-norm.cu', 'swiglu.cu']),
    )
    for (const path of sources) {
      const name = basename(path)
      const source = kernelSource(path, { T: 'bfloat16', SIZE: 8 })
      expect(source.startsWith(`#define T bfloat16\n#define SIZE 8\n#line 1 "${name}"\n`)).toBe(true)
      expect(source).not.toMatch(/^#include/m)
      // What follows a `#line N` is the file from its line N on.
      const lines = source.split('\n')
      const last = lines.findLastIndex(line => line.startsWith('#line'))
      const [, number, file] = /^#line (\d+) "(.*)"$/.exec(lines[last]!)!
      expect(file).toBe(name)
      const original = readFileSync(path, 'utf8').split('\n')
      expect(lines.slice(last + 1)).toEqual(original.slice(Number(number) - 1))
    }
  })

  test('that includes a missing file says which', () => {
    const file = join(process.env.WHETSTONE_CACHE!, 'lost.cu')
    writeFileSync(file, '#include "nowhere.cuh"\n')
    const options = { file: pathToFileURL(file), entry: 'lost', parameters: [] }
    expect(() => new Kernel(options)).toThrow(/nowhere\.cuh/)
  })

  test('is refused with a clear message where there is no CUDA', () => {
    const file = new URL('../../src/kernels/swiglu.cu', import.meta.url)
    const kernel = new Kernel({ file, entry: 'swiglu_forward', parameters: ['tensor:float32', 'int64'] })
    const launch = (...given: Parameters<Kernel['launch']>): void => kernel.launch(...given)
    const shape = { grid: [1], block: [32] } as const
    const x = Tensor.from([1, 2])
    expect(() => launch(shape, x, 2)).toThrow(
      backend().cuda.available ? /a CUDA tensor/ : /swiglu_forward needs a CUDA/,
    )
    expect(() => launch(shape, x, 2)).toThrow(ArgumentError)
    const program = record(['tensor'], x => launch(shape, x, 2))
    expect(() => program.call(x)).toThrow(/CUDA[\s\S]*recorded at .*fused-ops\.test\.ts/)
  })

  describe('launched wrongly', () => {
    const file = new URL('../../src/kernels/swiglu.cu', import.meta.url)
    const absent = backend().cuda.available ? /expects a CUDA tensor/ : /needs a CUDA device/
    const refused = (
      parameters: readonly KernelParameter[],
      launch: (kernel: Kernel) => void,
      message: RegExp,
    ): void => {
      const kernel = new Kernel({ file, entry: 'swiglu_forward', parameters })
      expect(() => launch(kernel)).toThrow(message)
      expect(() => launch(kernel)).toThrow(ArgumentError)
    }

    test('is refused before a device is asked', () => {
      const x = Tensor.from(new Float32Array(8), { shape: [2, 4] })
      const given = (shape: Launch, message: RegExp): void =>
        refused(['tensor:float32'], kernel => kernel.launch(shape, x), message)
      given({ grid: [-1], block: [32] }, /positive integers, got -1/)
      given({ grid: [1], block: [0] }, /positive integers, got 0/)
      given({ grid: [4], block: [32], cluster: [0] }, /cluster are positive integers, got 0/)
      given({ grid: [4], block: [32], cluster: [1.5] }, /cluster are positive integers, got 1.5/)
      given({ grid: [16, 2], block: [32], cluster: [8, 2] }, /at most 8 blocks/)
      given({ grid: [2 ** 31 - 1], block: [32], cluster: [2 ** 31 - 1, 2 ** 31 - 1, 4] }, /at most 8 blocks/)
      given({ grid: [5], block: [32], cluster: [2] }, /whole clusters, got 5 blocks in clusters of 2/)
      given({ grid: [4, 4, 3], block: [32], cluster: [1, 2, 2] }, /got 3 blocks in clusters of 2/)
      given({ grid: [4, 2, 1], block: [32], cluster: [2, 2], overlap: true }, absent)
      given({ grid: [0], block: [32], cluster: [2] }, absent)
      const shape = { grid: [1], block: [32] } as const
      refused(['tensor:float32'], kernel => kernel.launch(shape, x, 1), /takes 1 parameters, got 2/)
      refused(['tensor:float16'], kernel => kernel.launch(shape, x), /a tensor of Half, got Float\[2, 4\]/)
      refused(['tensor'], kernel => kernel.launch(shape, x.t()), /a contiguous tensor/)
      refused(['tensor'], kernel => kernel.launch(shape, null), /got no tensor/)
    })

    test('or made with a box that is none', () => {
      const boxes = [[], [128], [128, 32], [64, 128], [0, 64], [257, 64], [1.5, 64], [1, 1, 1, 1, 1, 64]]
      for (const box of boxes) {
        const options = { file, entry: 'swiglu_forward', parameters: [{ tiles: 'bfloat16', box }] } as const
        expect(() => new Kernel(options)).toThrow(/1 to 5 dimensions of 1 to 256 elements, the last of 64/)
        expect(() => new Kernel(options)).toThrow(ArgumentError)
      }
    })

    test('takes tiles of any view that bulk copies can read, and of no other', () => {
      const shape = { grid: [1], block: [32] } as const
      const given = (box: readonly number[], x: Tensor | number | null, message: RegExp): void =>
        refused([{ tiles: 'bfloat16', box }, 'int32'], kernel => kernel.launch(shape, x, 1), message)
      const x = Tensor.empty([4, 6, 64], { dtype: 'bfloat16' })
      given([2, 3, 64], x, absent)
      given([3, 2, 64], x.permute([1, 0, 2]), absent)
      given([2, 64], x.select(1, 2), absent)
      given([2, 3, 64], x.narrow(2, 8, 32), absent)
      // A dimension of one element has no stride to speak of.
      given([1, 64], Tensor.empty([7, 1], { dtype: 'bfloat16' }).t(), absent)
      given([1, 64], Tensor.empty([1, 7], { dtype: 'bfloat16' }), absent)
      given([256, 1, 1, 1, 64], x.view([4, 1, 1, 6, 64]), absent)

      given([2, 64], x, /a tensor of 2 dimensions, as many as its box has, got BFloat16\[4, 6, 64\]/)
      given([64], x, /a tensor of 1 dimension,/)
      given([2, 3, 64], x.permute([0, 2, 1]), /last dimension has stride 1, not strides of \[384, 1, 64\]/)
      given([2, 64], Tensor.empty([3, 9], { dtype: 'bfloat16' }), /a multiple of 16 bytes, not strides of \[9, 1\]/)
      given([2, 3, 64], x.narrow(2, 1, 32), /starts at a multiple of 16 bytes/)
      given([2, 3, 64], x.cast('float16'), /a tensor of BFloat16, got Half/)
      given([2, 3, 64], null, /a CUDA tensor, got null/)
      given([2, 3, 64], 5, /a CUDA tensor, got 5/)
      const half = [{ tiles: 'float16', box: [2, 3, 64] }] as const
      refused(half, kernel => kernel.launch(shape, x), /a tensor of Half, got BFloat16/)
      refused(half, kernel => kernel.launch(shape, x.cast('float16')), absent)
    })

    test('is refused in the middle of other parameters too', () => {
      const shape = { grid: [1], block: [32] } as const
      const parameters = ['int32', 'float32', { tiles: 'float16', box: [16, 64] }, 'int64'] as const
      const x = Tensor.empty([16, 64], { dtype: 'float16' })
      refused(parameters, kernel => kernel.launch(shape, 1.5, 1, x, 1), /parameter 0 expects an integer/)
      refused(parameters, kernel => kernel.launch(shape, 2 ** 31, 1, x, 1), /parameter 0 expects a 32-bit integer/)
      refused(parameters, kernel => kernel.launch(shape, 1, x, x, 1), /parameter 1 expects a number/)
      refused(parameters, kernel => kernel.launch(shape, 1, 1, x.t(), 1), /parameter 2 expects a tensor whose last/)
      refused(parameters, kernel => kernel.launch(shape, 1, 1, x, 1), absent)
    })
  })
})
