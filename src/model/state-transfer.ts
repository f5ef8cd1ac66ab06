/** Puts the tensors of a state into a model: of this process, and of the other ranks that hold the same model. */
import { empty, type Tensor, unscoped } from '../tensor/index.js'
import type { ModelOptimizer } from './optimizer.js'
import type { Parameters } from './parameters.js'
import type { Replicas } from './replicas.js'
import type { StateFile } from './state.js'
import { once } from './weights.js'

export class StateTransfer {
  constructor(
    private readonly weights: Parameters,
    private readonly optimizer: ModelOptimizer,
    private readonly replicas: Replicas | undefined,
  ) {}

  /** A tensor that was read from a state; rank 0 gives it to the other ranks too, which need not see its files. */
  async place(of: StateFile, name: string, tensor: Tensor): Promise<void> {
    const { replicas } = this
    if (!replicas || replicas.group.size === 1) return this.put(of, name, tensor)
    replicas.invite({ what: 'place', of, name })
    const sent = tensor.to(this.meetingPlace(replicas))
    try {
      await replicas.group.broadcast(sent, { from: 0 })
      await this.put(of, name, sent)
    } finally {
      sent.dispose()
    }
  }

  /** The other ranks' side of `place`. */
  async receive(of: StateFile, name: string): Promise<void> {
    const replicas = this.replicas!
    const expected = of === 'weights' ? undefined : this.optimizer.expected()
    const { shape, dtype } = (expected?.tensors ?? this.weights.trained()).get(name)!
    expected?.release()
    const device = this.meetingPlace(replicas)
    const tensor = unscoped(() => empty(shape, { dtype, device }))
    try {
      await replicas.group.broadcast(tensor, { from: 0 })
      await this.put(of, name, tensor)
    } finally {
      tensor.dispose()
    }
  }

  private async put(of: StateFile, name: string, tensor: Tensor): Promise<void> {
    if (of === 'optimizer') return this.optimizer.place(name, tensor)
    await once(() => void this.weights.trained().get(name)!.copy_(tensor))
  }

  /** NCCL moves tensors of GPUs; gloo would copy them to the host first. */
  private meetingPlace({ group }: Replicas): Tensor['device'] {
    return group.backend === 'nccl' ? [...this.weights.tensors.values()][0]!.device : 'cpu'
  }
}
