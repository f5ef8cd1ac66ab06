/**
 * Gradients one after another in a few large tensors, as collectives want them. Sums over ranks are made in float32, whatever the
 * gradients' dtype is.
 */
import { cat, noGrad, type ProcessGroup, type Program, record, type Tensor, unscoped, zeros } from '../tensor/index.js'

/** Elements of a bucket: large enough for full bandwidth, small enough beside a model. A larger parameter is a bucket of its own. */
const bucketElements = 1 << 24

export interface Sized {
  readonly name: string
  readonly parameter: Tensor
}

export function planBuckets<T extends Sized>(all: readonly T[], limit = bucketElements): T[][] {
  const buckets: T[][] = []
  let held = Number.POSITIVE_INFINITY
  for (const one of all) {
    const { numel } = one.parameter
    if (held + numel > limit) {
      buckets.push([])
      held = 0
    }
    buckets.at(-1)!.push(one)
    held += numel
  }
  return buckets
}

interface Packing {
  readonly pack: Program<readonly [], Tensor>
  readonly unpack: Program<readonly ['tensor'], undefined>
}

/** Sums the gradients of parameters over a group, so that every rank has the gradient of the whole batch. */
export class GradientSums {
  private readonly packings = new Map<string, Packing[]>()

  constructor(private readonly group: ProcessGroup) {}

  /** Each of these parameters has a gradient on every rank. */
  async sum(active: readonly Sized[]): Promise<void> {
    const key = active.map(({ name }) => name).join('\n')
    const packings = this.packings.get(key) ?? planBuckets(active).map(recordPacking)
    this.packings.set(key, packings)
    for (const { pack, unpack } of packings) {
      const flat = await pack.run()
      try {
        await this.group.allReduce(flat)
        await unpack.run(flat)
      } finally {
        flat.dispose()
      }
    }
  }

  dispose(): void {
    for (const { pack, unpack } of [...this.packings.values()].flat()) {
      pack.dispose()
      unpack.dispose()
    }
    this.packings.clear()
  }
}

function recordPacking(bucket: readonly Sized[]): Packing {
  const shapes = bucket.map(({ parameter }) => parameter.shape)
  const sizes = bucket.map(({ parameter }) => parameter.numel)
  const dtype = sumDtype(bucket)
  return {
    pack: record([], () =>
      noGrad(() => cat(bucket.map(({ parameter }) => parameter.grad!.toCopy({ dtype }).reshape([-1])))),
    ),
    unpack: record(['tensor'], flat => {
      noGrad(() => {
        let at = 0
        for (const [i, { parameter }] of bucket.entries()) {
          parameter.grad!.copy_(flat.narrow(0, at, sizes[i]!).view(shapes[i]!))
          at += sizes[i]!
        }
      })
    }) as Packing['unpack'],
  }
}

/** What gradients are summed in. */
export const sumDtype = (bucket: readonly Sized[]): 'float32' | 'float64' =>
  bucket.some(({ parameter }) => parameter.dtype === 'float64') ? 'float64' : 'float32'

/** Gives parameters that have a gradient on other ranks one of zeros. */
export function fillMissing(active: readonly Sized[]): void {
  for (const { parameter } of active) {
    const own = parameter.grad
    if (own) own.dispose()
    else {
      const empty = unscoped(() =>
        noGrad(() => zeros(parameter.shape, { dtype: parameter.dtype, device: parameter.device })),
      )
      parameter.grad = empty
      empty.dispose()
    }
  }
}
