import { expect, test } from 'vitest'
import { describeRanks, examine, parseBlas } from '../../src/cli/doctor.js'
import type { CheckedTensor, TensorRoom } from '../../src/cli/doctor-checks.js'
import { type RankMeasures, slowParts } from '../../src/distributed/index.js'

/** Two-by-two matrices in plain JavaScript; `mistake` is added to what they compute. */
function room(mistake: { product?: number; gradient?: number; throws?: string } = {}) {
  let live = 0
  class Matrix implements CheckedTensor {
    grad: this | undefined
    backwards = () => {}
    constructor(readonly values: number[]) {
      live++
    }
    make(values: number[]): this {
      return new Matrix(values) as this
    }
    matmul(other: this): this {
      if (mistake.throws) throw new Error(mistake.throws)
      const [a = 0, b = 0, c = 0, d = 0] = this.values
      const [e = 0, f = 0, g = 0, h = 0] = other.values
      const result = this.make([a * e + b * g, a * f + b * h, c * e + d * g, c * f + d * h + (mistake.product ?? 0)])
      result.backwards = () => {
        this.grad = this.make([e + f, g + h, e + f, g + h + (mistake.gradient ?? 0)])
        other.grad = this.make([a + c, a + c, b + d, b + d])
      }
      return result
    }
    sum(): this {
      const result = this.make([this.values.reduce((total, value) => total + value, 0)])
      result.backwards = this.backwards
      return result
    }
    backward(): void {
      this.backwards()
    }
    async data(): Promise<number[]> {
      return this.values
    }
    dispose(): void {
      live--
    }
  }
  const tensors: TensorRoom = {
    backend: () => ({
      libtorchVersion: '2.13.0',
      operatorCount: 3466,
      threads: 2,
      config: 'BLAS_INFO=mkl\n  - Intel(R) oneAPI Math Kernel Library Version 2024.2-Product Build',
      cuda: { available: true, graphs: true, devices: [{ name: 'A card', totalBytes: 2 ** 34 }] },
    }),
    Tensor: { from: values => new Matrix(values) },
  }
  return { tensors, live: () => live }
}

test('a healthy installation: facts, and checks on every device', async () => {
  const { tensors, live } = room()
  const diagnosis = await examine(async () => tensors)
  expect(diagnosis).toMatchObject({ node: process.version, threads: 2, blas: 'MKL 2024.2', operators: 3466 })
  const arithmetic = diagnosis.checks.filter(({ name }) => / on /.test(name))
  expect(arithmetic.map(({ name, ok }) => `${name} ${ok}`)).toEqual([
    'matrix product on cpu true',
    'backward pass on cpu true',
    'matrix product on cuda:0 true',
    'backward pass on cuda:0 true',
  ])
  expect(live()).toBe(0)
})

test.each([
  [{ product: 1e-6 }, 'matrix product on cpu', /expected \[19, 22, 43, 50\]/],
  [{ gradient: -1 }, 'backward pass on cpu', /got \[11, 15, 11, 14\]/],
  [{ throws: 'no kernel image' }, 'matrix product on cuda:0', /no kernel image/],
])('a wrong number, or an error, is a failed check: %o', async (mistake, name, detail) => {
  const { tensors, live } = room(mistake)
  const diagnosis = await examine(async () => tensors)
  expect(diagnosis.ok).toBe(false)
  expect(diagnosis.checks.find(check => check.name === name)).toMatchObject({
    ok: false,
    detail: expect.stringMatching(detail),
  })
  expect(live()).toBe(0)
})

test('a missing bridge is a failed check that says what to do', async () => {
  const missing = Object.assign(new Error('the native bridge is not built; run `npx whetstone setup`'), {
    name: 'BridgeMissingError',
  })
  const diagnosis = await examine(() => Promise.reject(missing))
  expect(diagnosis).toMatchObject({ ok: false, platform: `${process.platform}-${process.arch}` })
  expect(diagnosis.checks[0]?.detail).toContain('run `npx whetstone setup`')
})

test('the BLAS is read from what libtorch says about itself', () => {
  expect(parseBlas('Build settings: BLAS_INFO=open, BUILD_TYPE=Release')).toBe('OpenBLAS')
  expect(parseBlas('BLAS_INFO=generic')).toBe('generic')
  expect(parseBlas('nothing of the kind')).toMatch(/^none/)
})

test('ranks: what each is, and which of them is slow', () => {
  const build = { whetstone: '0.1.0', libtorch: '2.13.0', node: '24.1.0', arch: 'x64' }
  const rank = (rank: number, host: string, over: Partial<RankMeasures> = {}): RankMeasures => ({
    ...{ identity: { rank, host, pid: 7, device: `cuda:${rank % 2}`, build }, gflops: 900, answerMs: 0.2 },
    ...over,
  })
  const fast = { bytes: 1e9, seconds: 0.1, busBytesPerSecond: 1e10 }
  const even = [rank(0, 'box-1'), rank(1, 'box-1', { gflops: 700 })]
  expect(slowParts(even, fast)).toEqual([])
  expect(describeRanks({ ranks: even, backend: 'nccl', allReduce: fast, slow: [] })).toEqual([
    'rank 0: box-1, cuda:0; whetstone 0.1.0, libtorch 2.13.0, Node 24.1.0; 900 GFLOP/s; answers in 0.20 ms',
    'rank 1: box-1, cuda:1; whetstone 0.1.0, libtorch 2.13.0, Node 24.1.0; 700 GFLOP/s; answers in 0.20 ms',
    expect.stringMatching(/^all-reduce of 1.* GB over nccl: 100\.0 ms, 10.* GB\/s per rank$/),
    'no rank is slower than the others',
  ])
  const uneven = [...even, rank(2, 'box-2', { gflops: 450 }), rank(3, 'box-2', { answerMs: 8 })]
  expect(slowParts(uneven, { ...fast, seconds: 3 })).toEqual([
    'rank 2 (box-2, cuda:0) computes at 50 % of the fastest rank: all others wait for it in every step',
    'rank 3 (box-2, cuda:1) answers after 8.0 ms: its network is slow, or its machine is busy',
    'an all-reduce takes 3.0 s per GB of gradients: the network between the machines is slow',
  ])
})
