/** The same model in several processes that train it together: what its parts need of the others. */
import { type ProcessGroup, Tensor } from '../tensor/index.js'
import type { LossScaleState } from './loss-scale.js'

/** What rank 0 has the other ranks take part in; they do it in the order of the invitations. */
export type Invitation =
  /** The whole of an optimiser state that is divided over the ranks. */
  | { readonly what: 'gather'; readonly name: string }
  /** A state is about to be loaded. */
  | { readonly what: 'load'; readonly hasOptimizer: boolean; readonly failure: string }
  /** A tensor of the state comes from rank 0. */
  | { readonly what: 'place'; readonly of: 'weights' | 'optimizer'; readonly name: string }
  | {
      readonly what: 'loaded'
      readonly version: number
      readonly seed: number
      readonly lossScale: LossScaleState | undefined
    }

/** The processes that hold the same model. Each makes the same calls of `step` in the same order. */
export interface Replicas {
  readonly group: ProcessGroup
  /** Rank 0: asks the others to take part. They do it when their turn comes; an error of theirs ends the group. */
  readonly invite: (invitation: Invitation) => void
}

/** Whether any rank says so. */
export async function anyRank({ group }: Replicas, flags: Int32Array, device: Tensor['device']): Promise<Int32Array> {
  const tensor = Tensor.from(flags, { device })
  try {
    await group.allReduce(tensor, { of: 'max' })
    return (await tensor.data<'int32'>()) as Int32Array
  } finally {
    tensor.dispose()
  }
}
