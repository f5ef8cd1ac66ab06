import type { Device } from '../tensor/index.js'

/** The part of the tensor room that the doctor needs; tests replace it by one that computes wrong numbers. */
export interface TensorRoom {
  backend(): {
    libtorchVersion: string
    operatorCount: number
    threads: number
    /** libtorch's own description of how it was built. */
    config: string
    cuda: { available: boolean; graphs: boolean; devices: { name: string; totalBytes: number }[] }
  }
  Tensor: {
    from(
      values: number[],
      options: { shape: readonly number[]; dtype: 'float32'; device: Device; requiresGrad: boolean },
    ): CheckedTensor
  }
}

export interface CheckedTensor {
  matmul(other: this): this
  sum(): this
  backward(): void
  readonly grad: this | undefined
  data(): Promise<ArrayLike<number | bigint>>
  dispose(): void
}

export interface Check {
  name: string
  ok: boolean
  detail: string
}

/** Small enough to compute by hand, and exact in float32 and TF32: any other number is wrong. */
const left = [1, 2, 3, 4]
const right = [5, 6, 7, 8]
const expected = { product: [19, 22, 43, 50], leftGradient: [11, 15, 11, 15], rightGradient: [4, 4, 6, 6] }

export async function checkArithmetic({ Tensor }: TensorRoom, device: Device): Promise<Check[]> {
  const owned: { dispose(): void }[] = []
  const own = <T extends { dispose(): void }>(tensor: T): T => {
    owned.push(tensor)
    return tensor
  }
  const options = { shape: [2, 2], dtype: 'float32', device, requiresGrad: true } as const
  const check = async (name: string, work: () => Promise<Check>): Promise<Check> => {
    try {
      return await work()
    } catch (error) {
      return { name, ok: false, detail: error instanceof Error ? error.message : String(error) }
    }
  }
  try {
    const product = `matrix product on ${device}`
    const backward = `backward pass on ${device}`
    return [
      await check(product, async () => {
        const result = own(own(Tensor.from(left, options)).matmul(own(Tensor.from(right, options))))
        return compare(product, [[await result.data(), expected.product]])
      }),
      await check(backward, async () => {
        const a = own(Tensor.from(left, options))
        const b = own(Tensor.from(right, options))
        own(own(a.matmul(b)).sum()).backward()
        const gradients = [a.grad, b.grad].map(grad => grad && own(grad))
        return compare(backward, [
          [(await gradients[0]?.data()) ?? [], expected.leftGradient],
          [(await gradients[1]?.data()) ?? [], expected.rightGradient],
        ])
      }),
    ]
  } finally {
    for (const tensor of owned) tensor.dispose()
  }
}

function compare(name: string, pairs: [ArrayLike<number | bigint>, number[]][]): Check {
  for (const [actual, wanted] of pairs) {
    const values = Array.from(actual, Number)
    if (values.length !== wanted.length || values.some((value, index) => value !== wanted[index]))
      return { name, ok: false, detail: `got [${values.join(', ')}], expected [${wanted.join(', ')}]` }
  }
  return { name, ok: true, detail: 'right' }
}
