/** The models of one rank by name, and the commands that reach them. */
import {
  type Gradients,
  type Invitation,
  type LoadOptions,
  LocalModel,
  type ReplicaTrainOptions,
  type Role,
  type ScoreOptions,
  type TrainStepOptions,
  type TrainStepResult,
} from '../model/index.js'
import { RankError } from './errors.js'
import type { Part } from './frames.js'
import { outputsFromPart, outputsToPart } from './output-arrays.js'
import type { Handlers } from './peer.js'
import { sequencesFromPart } from './sequence-arrays.js'
import type { Membership } from './world.js'

/** How a rank loads its copy: the options of `LocalModel.load` that are data. */
export type ReplicaOptions<R extends Role = Role> = Omit<
  LoadOptions<R>,
  'signal' | 'onProgress' | 'device' | 'replicas'
>

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

export interface TrainCommand {
  readonly model: string
  readonly options: Omit<ReplicaTrainOptions, 'signal'>
  readonly sequences: unknown
}

/** Work of a model that has one answer and no arrays. */
export type ModelCommand = { readonly model: string } & (
  | { readonly do: 'step'; readonly options: TrainStepOptions }
  | { readonly do: 'join'; readonly invitation: Invitation }
  | { readonly do: 'average'; readonly other: string; readonly decay: number }
  | { readonly do: 'copyFrom'; readonly other: string }
  | { readonly do: 'loadWeights'; readonly directory: string }
  | { readonly do: 'zeroGrad' | 'mergeAdapter' | 'offload' | 'reload' | 'checksum' | 'dispose' }
)

/** What a rank answers to `step`: the same on every rank. */
export interface StepAnswer extends Pick<TrainStepResult, 'version' | 'skipped'> {
  /** As text, because JSON has no infinity. */
  readonly norm: string
}

export class RankModels {
  private readonly models = new Map<string, LocalModel>()
  /** Collectives are made in the order of the commands. */
  private turn: Promise<unknown> = Promise.resolve()

  constructor(
    private readonly membership: Pick<Membership, 'identity' | 'group'>,
    /** Rank 0: has the other ranks take part in what its copy does. */
    private readonly invite: (model: string, invitation: Invitation) => void = () => {
      throw new RankError('only rank 0 invites')
    },
  ) {}

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
    const replicas = { group: this.membership.group, invite: (one: Invitation) => this.invite(model, one) }
    const loaded = await LocalModel.load<R>(directory, {
      ...(options as ReplicaOptions<R>),
      ...{ ...place, ...more, replicas },
    })
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
      const loaded = await this.load(body as LoadCommand, { signal })
      return { body: await loaded.fingerprint() }
    },
    'model.score': async ({ body, arrays, signal, send }): Promise<Part> => {
      const { model, options, sequences } = body as ScoreCommand
      const found = this.get(model)
      const inputs = sequencesFromPart(sequences, arrays)
      const outputs = await found.score(inputs, { ...options, signal, onProgress: done => send(done) })
      return outputsToPart(found.role, outputs)
    },
    'model.forwardBackward': async ({ body, arrays, signal, send, next }) => {
      const { model, options, sequences } = body as TrainCommand
      const found = this.get(model)
      const inputs = sequencesFromPart(sequences, arrays)
      await found.forwardBackward(
        inputs,
        async (outputs, indices) => {
          send(indices, outputsToPart(found.role, outputs).arrays)
          const answer = await next()
          // The controller gives up by aborting; it never answers a call of its own.
          if (!answer) throw new RankError('the controller gave no gradients')
          return outputsFromPart<Gradients[Role]>(found.role, answer.arrays)
        },
        { ...options, signal },
      )
      return undefined
    },
    model: async ({ body }) => ({ body: await this.command(body as ModelCommand) }),
  }

  /** Commands begin in the order they come, and one after another where they make collectives. */
  private command(command: ModelCommand): Promise<unknown> {
    // At once: what comes next counts on it.
    if (command.do === 'zeroGrad') return Promise.resolve(this.get(command.model).zeroGrad())
    if (command.do === 'dispose') return Promise.resolve(this.dispose(command.model))
    const turn = this.turn.then(() => this.work(command))
    this.turn = turn.catch(() => {})
    return turn
  }

  private async work(command: ModelCommand): Promise<unknown> {
    const model = this.get(command.model)
    switch (command.do) {
      case 'step': {
        const { norm, version, skipped } = await model.step(command.options)
        return { norm: String(norm), version, ...(skipped && { skipped }) } satisfies StepAnswer
      }
      case 'join':
        return model.join(command.invitation)
      case 'average':
        return model.average(this.get(command.other), { decay: command.decay })
      case 'copyFrom':
        return model.copyFrom(this.get(command.other))
      case 'loadWeights':
        return model.loadWeights(command.directory)
      case 'mergeAdapter':
        return model.mergeAdapter()
      case 'offload':
        return model.offload()
      case 'reload':
        return model.reload()
      case 'checksum':
        return model.checksum()
    }
    return undefined
  }
}
