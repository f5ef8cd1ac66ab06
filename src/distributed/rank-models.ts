/** The models of one rank by name, and the commands that reach them. */
import { type LoadOptions, LocalModel, type Outputs, type Role, type ScoreOptions } from '../model/index.js'
import type { Part } from './frames.js'
import { outputsToPart } from './output-arrays.js'
import type { Handlers } from './peer.js'
import { sequencesFromPart } from './sequence-arrays.js'
import type { Membership } from './world.js'

/** How a rank loads its replica: the options of `LocalModel.load` that are data. */
export type ReplicaOptions<R extends Role = Role> = Omit<LoadOptions<R>, 'signal' | 'onProgress' | 'device'>

export interface LoadCommand {
  readonly model: string
  readonly directory: string
  readonly options: ReplicaOptions
}

export interface ScoreCommand {
  readonly model: string
  readonly options: Omit<ScoreOptions, 'signal' | 'onProgress'>
  readonly sequences: unknown
}

export class RankModels {
  private readonly models = new Map<string, LocalModel>()

  constructor(private readonly membership: Pick<Membership, 'identity' | 'group'>) {}

  get(name: string): LocalModel {
    const found = this.models.get(name)
    if (!found) throw new RangeError(`rank ${this.membership.identity.rank} has no model ${JSON.stringify(name)}`)
    return found
  }

  async load<R extends Role>(
    { model, directory, options }: LoadCommand,
    more: Pick<LoadOptions<R>, 'signal' | 'onProgress'> = {},
  ): Promise<LocalModel<R>> {
    const { device } = this.membership.identity
    const place = { device: device as NonNullable<LoadOptions<R>['device']> }
    const loaded = await LocalModel.load<R>(directory, { ...(options as ReplicaOptions<R>), ...place, ...more })
    this.models.set(model, loaded as unknown as LocalModel)
    return loaded
  }

  dispose(name?: string): void {
    for (const [key, model] of this.models)
      if (name === undefined || key === name) {
        model.dispose()
        this.models.delete(key)
      }
  }

  /** What the controller may ask this rank for. */
  readonly handlers: Handlers = {
    'model.load': async ({ body, signal }) => {
      await this.load(body as LoadCommand, { signal })
      return undefined
    },
    'model.dispose': async ({ body }) => {
      this.dispose((body as { model: string }).model)
      return undefined
    },
    'model.score': async ({ body, arrays, signal, send }): Promise<Part> => {
      const { model, options, sequences } = body as ScoreCommand
      const found = this.get(model)
      const inputs = sequencesFromPart(sequences, arrays)
      const outputs: Outputs[Role][] = await found.score(inputs, { ...options, signal, onProgress: done => send(done) })
      return outputsToPart(found.role, outputs)
    },
  }
}
