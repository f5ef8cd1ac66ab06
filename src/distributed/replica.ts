/** One rank's copy of a model, as the controller uses it: its own in this process, the others over their connections. */
import type { Gradients, ModelInput, Outputs, ReplicaTrainOptions, Role, ScoreOptions } from '../model/index.js'
import { outputsFromPart, outputsToPart } from './output-arrays.js'
import type { Peer } from './peer.js'
import type { ScoreCommand, TrainCommand } from './rank-models.js'
import { sequencesToPart } from './sequence-arrays.js'

/** Asked for the gradients of some outputs of a rank; the answer may have to wait for its turn. */
type RankLoss<R extends Role> = (
  outputs: readonly Outputs[R][],
  indices: readonly number[],
) => Promise<readonly Gradients[R][]>

export interface Replica<R extends Role> {
  score(sequences: readonly ModelInput[], options: ScoreOptions): Promise<Outputs[R][]>
  forwardBackward(sequences: readonly ModelInput[], loss: RankLoss<R>, options: ReplicaTrainOptions): Promise<void>
}

/** The copy of another rank. */
export class RemoteReplica<R extends Role> implements Replica<R> {
  constructor(
    private readonly peer: Peer,
    private readonly model: string,
    private readonly role: R,
  ) {}

  async score(sequences: readonly ModelInput[], options: ScoreOptions): Promise<Outputs[R][]> {
    const { signal, onProgress, ...rest } = options
    const { body, arrays } = sequencesToPart(sequences)
    const command: ScoreCommand = { model: this.model, options: rest, sequences: body }
    const call = this.peer.call('model.score', command, { arrays, signal })
    for (let part = await call.next(); part; part = await call.next()) onProgress?.(part.body as number)
    return outputsFromPart<Outputs[R]>(this.role, (await call.done).arrays)
  }

  async forwardBackward(
    sequences: readonly ModelInput[],
    loss: RankLoss<R>,
    options: ReplicaTrainOptions,
  ): Promise<void> {
    const { signal, ...rest } = options
    const { body, arrays } = sequencesToPart(sequences)
    const command: TrainCommand = { model: this.model, options: rest, sequences: body }
    const stop = new AbortController()
    const either = signal ? AbortSignal.any([signal, stop.signal]) : stop.signal
    const call = this.peer.call('model.forwardBackward', command, { arrays, signal: either })
    try {
      for (let part = await call.next(); part; part = await call.next()) {
        const outputs = outputsFromPart<Outputs[R]>(this.role, part.arrays)
        const gradients = await loss(outputs, part.body as number[])
        call.send(null, outputsToPart(this.role, gradients).arrays)
      }
    } catch (error) {
      // The rank has to be out of its pass before anything else is asked of it.
      stop.abort(error)
      await call.done.catch(() => {})
      throw error
    }
    await call.done
  }
}
