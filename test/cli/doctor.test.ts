import { expect, test } from 'vitest'
import { examine, parseBlas } from '../../src/cli/doctor.js'
import type { CheckedTensor, TensorRoom } from '../../src/cli/doctor-checks.js'

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
