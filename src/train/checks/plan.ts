/** Inputs of a training, from its config alone, for checks before anything is loaded. */
import type { AnswerEnd, DataOptions, DataSpec, ExampleKind } from '../../data/index.js'
import type { Devices } from '../../distributed/index.js'
import type { Role } from '../../model/index.js'
import type { RewardNames } from '../../reward/index.js'
import type { LoraConfig, OptimizerConfig } from '../config/common.js'
import type { GeneratorConfig } from '../config/generator.js'
import type { Trained } from './pass-memory.js'
import type { FreezeVision } from './vision-memory.js'

/** One of the models and its use. */
export interface PlannedUse {
  /** For people: `the policy`, `the reference`. */
  readonly name: string
  /** The option that names its directory. */
  readonly option: string
  readonly directory: string
  readonly role: Role
  readonly trained: Trained
  /** A new adapter's shape, or the directory of one. */
  readonly adapter?: LoraConfig | string | undefined
  /** `no`: only its weights are kept, such as those of a moving average. */
  readonly computes: 'yes' | 'no'
  /** Whether the ranks share its optimiser's state. Default: no. */
  readonly shard?: boolean | undefined
  /** Of its weights, where it is not the training's. */
  readonly dtype?: 'float32' | 'bfloat16' | 'float16' | undefined
}

export interface PlannedData {
  /** What names it in the config. */
  readonly option: string
  readonly kind: ExampleKind
  readonly spec: DataSpec
  readonly options: Partial<DataOptions>
  readonly answerEnd?: AnswerEnd
}

export interface TrainingPlan {
  /** The first one is the model that is trained; the others read its tokens. */
  readonly models: readonly [PlannedUse, ...PlannedUse[]]
  readonly data: readonly PlannedData[]
  /** What scores the answers. */
  readonly rewards?: RewardNames | undefined
  readonly device: string
  /** Ranks on this machine, each with a copy of the models. */
  readonly devices?: Devices | undefined
  readonly dtype?: 'float32' | 'bfloat16' | 'float16' | undefined
  /** Of the first model's tokenizer: `auto`, `none`, `chatml` or a file. */
  readonly chatTemplate?: string | undefined
  readonly gradientCheckpointing: boolean
  readonly tokenBudget?: number | undefined
  /** Of a model with a vision tower. */
  readonly freezeVision?: FreezeVision | undefined
  readonly patchBudget?: number | undefined
  /** Sequences of an optimiser step. */
  readonly sequences: number
  /** Sequences that stay in one batch: the two of a pair. Default 1. */
  readonly groupSize?: number
  /** Tokens of a sequence, where the config bounds them. */
  readonly maxLength?: number | undefined
  readonly generation?: PlannedGeneration | undefined
  /** Servers that generate, and what they are given. */
  readonly servers?: { readonly config: GeneratorConfig; readonly weights: 'checkpoint' | 'adapter' } | undefined
  readonly seed: number
}

/** Samples of a rollout, tokens a prompt and a response may have, and whose memory generates. */
export interface PlannedGeneration {
  readonly samples: number
  readonly samplesPerPrompt: number
  readonly promptMaxLen: number | undefined
  readonly promptTruncation: 'left' | 'right' | 'reject'
  readonly maxNewTokens: number
  /** Samples that generate at once, where the config says. */
  readonly maxInFlight?: number | undefined
  readonly engine: 'here' | 'elsewhere'
  /** `freed`: the engine gives its cache back before models score and train. Default `kept`. */
  readonly cache?: 'kept' | 'freed'
}

/** What the configs of trainings on rows have in common. */
interface RowsConfig extends Omit<Partial<DataOptions>, 'maxLength'> {
  readonly model: string
  readonly data: DataSpec
  readonly device: string
  readonly devices?: Devices | undefined
  readonly optimizer: Pick<OptimizerConfig, 'shard'>
  readonly dtype?: TrainingPlan['dtype']
  readonly lora?: LoraConfig | undefined
  readonly adapter?: string | undefined
  readonly gradientCheckpointing: boolean
  readonly tokenBudget?: number | undefined
  readonly freezeVision?: FreezeVision | undefined
  readonly patchBudget?: number | undefined
  readonly maxLength?: number | undefined
  readonly batchSize: number
  readonly freezeBackbone?: boolean | undefined
  readonly seed: number
}

/** A reward model reads the whole conversation as the chat template renders it, as in transformers and TRL. */
export const answerEndOf = (role: Role): AnswerEnd => (role === 'reward' ? 'template' : 'turn')

/** The plan of a training on rows: one model that learns, and perhaps a reference that does not. */
export function planRows(
  config: RowsConfig,
  options: { kind: ExampleKind; role: Role; reference?: string | undefined },
): TrainingPlan {
  const { kind, role, reference } = options
  const { model, data, lora, adapter, batchSize, freezeBackbone = false } = config
  const { device, devices, dtype, chatTemplate, gradientCheckpointing, tokenBudget, maxLength, seed } = config
  const { freezeVision, patchBudget } = config
  const trained = freezeBackbone ? 'head' : lora || adapter !== undefined ? 'adapter' : 'weights'
  const first = { name: 'the model', option: 'model', directory: model, role, trained, computes: 'yes' } as const
  const others: PlannedUse[] =
    reference === undefined
      ? []
      : [
          {
            name: 'the reference',
            option: 'reference',
            directory: reference,
            role: 'language',
            trained: 'nothing',
            computes: 'yes',
          },
        ]
  return {
    models: [{ ...first, adapter: adapter ?? lora, shard: config.optimizer.shard }, ...others],
    data: [{ option: 'data', kind, spec: data, options: config as Partial<DataOptions>, answerEnd: answerEndOf(role) }],
    device,
    devices,
    dtype,
    chatTemplate,
    gradientCheckpointing,
    tokenBudget,
    freezeVision,
    patchBudget,
    maxLength,
    sequences: batchSize * (kind === 'preferences' ? 2 : 1),
    groupSize: kind === 'preferences' ? 2 : 1,
    seed,
  }
}
