/**
 * AdamW whose float32 copies and moments are divided over the ranks of a group: each rank has one part of every parameter, updates
 * it, and all get the weights of all (ZeRO stage 1). A parameter's part is a run of its elements, so that every rank has the same
 * amount of everything.
 */
import {
  AdamW,
  type AdamWOptions,
  cat,
  empty,
  noGrad,
  type ProcessGroup,
  type Program,
  record,
  type StepOptions,
  scope,
  stack,
  Tensor,
  type Update,
  unscoped,
  zeros,
} from '../tensor/index.js'
import { planBuckets, type Sized, sumDtype } from './gradient-buckets.js'
import { once } from './weights.js'

interface Part extends Sized {
  /** Elements of a rank's part; the parts of all may have a few more than the parameter. */
  readonly length: number
  /** This rank's part of the parameter, in its dtype. */
  readonly own: Tensor
}

interface Bucket {
  readonly dtype: 'float32' | 'float64'
  /** Elements of a rank's parts together. */
  readonly length: number
  /** Gradients of all parts, those of a rank one after another. */
  readonly pack: Program<readonly [], Tensor>
  /** Makes the summed gradients those of the parts of this rank. */
  readonly take: Program<readonly ['tensor'], undefined>
  readonly packOwn: Program<readonly [], Tensor>
  /** Puts the parts of all ranks into the parameters; gives how many 16-bit weights changed, where there are some. */
  readonly spread: Program<readonly ['tensor'], Tensor | undefined>
}

interface ShardedGroup extends AdamWOptions {
  readonly parameters: ReadonlyMap<string, Tensor>
}

export class ShardedAdamW {
  private readonly parts: ReadonlyMap<string, Part>
  private readonly inner: AdamW
  private readonly buckets = new Map<string, Bucket[]>()

  constructor(
    groups: readonly ShardedGroup[],
    private readonly group: ProcessGroup,
  ) {
    const all = groups.flatMap(({ parameters }) => [...parameters])
    this.parts = new Map(all.map(([name, parameter]) => [name, this.partOf(name, parameter)]))
    this.inner = new AdamW(
      groups.map(({ parameters, ...options }) => ({
        ...options,
        parameters: new Map([...parameters.keys()].map(name => [name, this.parts.get(name)!.own])),
      })),
    )
  }

  private partOf(name: string, parameter: Tensor): Part {
    const { dtype, device, numel } = parameter
    const length = Math.max(1, Math.ceil(numel / this.group.size))
    const own = unscoped(() => noGrad(() => zeros([length], { dtype, device })))
    own.requiresGrad = true
    return { name, parameter, length, own }
  }

  /** Takes the weights as they are now. */
  async refresh(): Promise<void> {
    await once(() => {
      for (const part of this.parts.values()) this.cut(part, part.parameter, part.own)
    })
  }

  /** Copies this rank's part of a whole tensor. In a program. */
  private cut({ parameter, length }: Part, whole: Tensor, into: Tensor): void {
    const start = Math.min(parameter.numel, this.group.rank * length)
    const count = Math.min(parameter.numel - start, length)
    if (count > 0) into.narrow(0, 0, count).copy_(whole.reshape([-1]).narrow(0, start, count))
  }

  /** Every rank has a gradient of these parameters, and no other. Not finite on one rank, it stops all before any weight changes. */
  async step(active: readonly string[], options: StepOptions): Promise<Update> {
    const key = active.join('\n')
    const parts = active.map(name => this.parts.get(name)!)
    const buckets = this.buckets.get(key) ?? planBuckets(parts).map(bucket => this.recordBucket(bucket))
    this.buckets.set(key, buckets)
    const { device } = parts[0]!.own
    for (const { dtype, length, pack, take } of buckets) {
      const whole = await pack.run()
      const part = unscoped(() => empty([length], { dtype, device }))
      try {
        await this.group.reduceScatter({ whole, part })
        await take.run(part)
      } finally {
        whole.dispose()
        part.dispose()
      }
    }
    let update: Update
    try {
      update = await this.inner.step({ ...options, wholeNorms: norms => this.wholeNorms(norms, device) })
    } finally {
      this.inner.zeroGrad()
    }
    const changed: Tensor[] = []
    for (const { length, packOwn, spread } of buckets) {
      const part = await packOwn.run()
      const whole = unscoped(() => empty([length * this.group.size], { dtype: part.dtype, device }))
      try {
        await this.group.allGather({ whole, part })
        const count = await spread.run(whole)
        if (count) changed.push(count)
      } finally {
        whole.dispose()
        part.dispose()
      }
    }
    return { ...update, changed: changed.length > 0 ? shareOf(changed, parts) : undefined }
  }

  private async wholeNorms(norms: Float64Array, device: Tensor['device']): Promise<Float64Array> {
    const squares = Tensor.from(
      norms.map(norm => norm * norm),
      { device },
    )
    try {
      await this.group.allReduce(squares)
      return ((await squares.data<'float64'>()) as Float64Array).map(Math.sqrt)
    } finally {
      squares.dispose()
    }
  }

  private recordBucket(bucket: readonly Part[]): Bucket {
    const ranks = this.group.size
    const dtype = sumDtype(bucket)
    const offsets: number[] = []
    let length = 0
    for (const part of bucket) {
      offsets.push(length)
      length += part.length
    }
    const rows = (flat: Tensor, part: Part): Tensor =>
      flat.pad([0, ranks * part.length - part.parameter.numel]).view([ranks, part.length])
    return {
      dtype,
      length,
      pack: record([], () =>
        noGrad(() =>
          cat(
            bucket.map(part => rows(part.parameter.grad!.toCopy({ dtype }).reshape([-1]), part)),
            1,
          ).reshape([-1]),
        ),
      ),
      take: record(['tensor'], summed => {
        noGrad(() => {
          for (const [i, { own, length }] of bucket.entries())
            own.grad = summed.narrow(0, offsets[i]!, length).toCopy({ dtype: own.dtype })
        })
      }) as Bucket['take'],
      packOwn: record([], () => noGrad(() => cat(bucket.map(({ own }) => own.detach())))),
      spread: record(['tensor'], whole =>
        noGrad(() => {
          const table = whole.view([ranks, length])
          const changed = bucket.flatMap(({ parameter, length: own }, i) => {
            const fresh = table.narrow(1, offsets[i]!, own).reshape([-1]).narrow(0, 0, parameter.numel)
            const shaped = fresh.view(parameter.shape)
            const count = isNarrow(parameter) ? [shaped.ne(parameter).sum()] : []
            parameter.copy_(shaped)
            return count
          })
          return changed.length > 0 ? stack(changed).sum() : undefined
        }),
      ),
    }
  }

  /** This rank's parts of the masters, by the parameters' names. */
  masterParts(): Map<string, Tensor> {
    return this.inner.masters()
  }

  /** Gives the part of a master this rank's share of a whole one. */
  async placeMaster(name: string, whole: Tensor): Promise<void> {
    await once(() => this.cut(this.parts.get(name)!, whole, this.inner.masters().get(name)!))
  }

  /** Everything that this rank holds. */
  held(): Tensor[] {
    return [...[...this.parts.values()].map(({ own }) => own), ...this.inner.state().values()]
  }

  /** As the state of an undivided AdamW: tensors that have the shape of the whole, and take no memory. */
  shapes(): Map<string, Tensor> {
    return unscoped(
      () =>
        new Map(
          [...this.inner.state()].map(([name, { dtype, shape }]) => {
            const { parameter } = this.partNamed(name)
            const whole = shape.length === 0 ? [] : [...parameter.shape]
            return [
              name,
              noGrad(() =>
                zeros(
                  whole.map(() => 1),
                  { dtype },
                ).expand(whole),
              ),
            ]
          }),
        ),
    )
  }

  /** The whole of a state, of the parts that all ranks have: a collective. */
  async gather(name: string): Promise<Tensor> {
    const own = this.inner.state().get(name)!
    if (own.shape.length === 0) return unscoped(() => noGrad(() => own.clone()))
    const { parameter, length } = this.partNamed(name)
    const { dtype, device } = own
    const whole = unscoped(() => empty([length * this.group.size], { dtype, device }))
    try {
      await this.group.allGather({ whole, part: own })
      return unscoped(() => scope(() => whole.narrow(0, 0, parameter.numel).view(parameter.shape)))
    } finally {
      whole.dispose()
    }
  }

  /** Takes this rank's part of a whole state. */
  async place(name: string, whole: Tensor): Promise<void> {
    const own = this.inner.state().get(name)!
    await once(() => {
      if (own.shape.length === 0) own.copy_(whole)
      else this.cut(this.partNamed(name), whole, own)
    })
  }

  private partNamed(state: string): Part {
    return this.parts.get(state.slice(0, state.lastIndexOf('.')))!
  }

  dispose(): void {
    this.inner.dispose()
    for (const { own } of this.parts.values()) own.dispose()
    for (const { pack, take, packOwn, spread } of [...this.buckets.values()].flat())
      for (const program of [pack, take, packOwn, spread]) program.dispose()
    this.buckets.clear()
  }
}

const isNarrow = ({ dtype }: Tensor): boolean => dtype === 'bfloat16' || dtype === 'float16'

/** The share of 16-bit weights that changed, when the device has counted them. */
async function shareOf(counts: readonly Tensor[], parts: readonly Part[]): Promise<number> {
  const all = parts
    .filter(({ parameter }) => isNarrow(parameter))
    .reduce((sum, { parameter }) => sum + parameter.numel, 0)
  try {
    const found = await Promise.all(counts.map(count => count.data<'int64'>()))
    return found.reduce((sum, [count]) => sum + Number(count), 0) / all
  } finally {
    for (const count of counts) count.dispose()
  }
}
