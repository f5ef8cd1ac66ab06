/**
 * The state of a training as one directory: `state.json` says whose it is and where it stands, `weights.safetensors` holds
 * what is trained, `optimizer.safetensors` float32 copies, moments and step counts. What is not trained is not written, only
 * a fingerprint of it.
 */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import type { ModelConfig } from '../decoder/index.js'
import { systemProblem } from '../errors/index.js'
import { recoverDirectory, writeDirectoryAtomic, writeFileAtomic } from '../files/index.js'
import { adamWRates, SafetensorsFile, type Tensor, writeSafetensors } from '../tensor/index.js'
import type { Adapter } from './adapter.js'
import { differences } from './differences.js'
import { ModelError } from './errors.js'
import type { OptimizerOptions, Settings } from './loading.js'
import { type LossScaleState, lossScaleSchema } from './loss-scale.js'
import type { SavedOptimizer } from './optimizer.js'
import type { Role } from './outputs.js'
import type { Parameters } from './parameters.js'

const files = { state: 'state.json', weights: 'weights.safetensors', optimizer: 'optimizer.safetensors' }

const stateSchema = z.strictObject({
  /** Of this layout. */
  format: z.literal(1),
  /** Whose state it is; everything that makes another training of it. */
  training: z.record(z.string(), z.json()),
  version: z.int().nonnegative(),
  /** Of dropout. With the version it is the position of its random numbers. */
  seed: z.int(),
  /** Of float16 weights. */
  lossScale: lossScaleSchema.optional(),
  /** A model that has not made a step yet has none. */
  optimizer: z.boolean(),
})

type SavedState = z.infer<typeof stateSchema>
export type TrainingIdentity = SavedState['training']

interface TrainingState extends Pick<SavedState, 'training' | 'version' | 'seed'> {
  lossScale: LossScaleState | undefined
  /** What is trained, by name. */
  weights: ReadonlyMap<string, Tensor>
  optimizer: Pick<SavedOptimizer, 'tensors' | 'materialize'> | undefined
}

/** What makes a training another one: a state is taken over where all of it is equal. */
export async function trainingIdentity(of: {
  readonly role: Role
  readonly config: ModelConfig
  readonly adapter: Adapter | undefined
  readonly settings: Settings
  readonly weights: Parameters
}): Promise<TrainingIdentity> {
  const { role, config, adapter, settings, weights } = of
  if (weights.merged)
    throw new ModelError('the adapter was merged into the weights permanently; there is nothing to train')
  const { initRange: _, ...decoder } = config.decoder
  return JSON.parse(
    JSON.stringify({
      role,
      dtype: settings.dtype,
      decoder,
      adapter: adapter ? { ...adapter.options, scale: adapter.scale } : null,
      freezeBackbone: settings.freezeBackbone,
      ...(settings.freezeVision && { freezeVision: settings.freezeVision }),
      optimizer: optimizerIdentity(settings.optimizer),
      frozenWeights: await weights.frozenFingerprint(),
    }),
  ) as TrainingIdentity
}

/** The options of an optimiser as they are in force. */
function optimizerIdentity({ noDecay = [], ...options }: OptimizerOptions) {
  const { lr: _, betas, ...rates } = adamWRates({ ...options, lr: 0 })
  return { betas: [...betas], ...rates, noDecay: [...noDecay].sort() }
}

export async function writeState(directory: string, state: TrainingState): Promise<void> {
  const { training, version, seed, lossScale, weights, optimizer } = state
  const text: SavedState = {
    ...{ format: 1, training, version, seed, optimizer: optimizer !== undefined },
    ...(lossScale && { lossScale }),
  }
  await writeDirectoryAtomic(
    directory,
    async at => {
      await writeSafetensors(join(at, files.weights), weights)
      if (optimizer) {
        const { tensors, materialize } = optimizer
        await writeSafetensors(join(at, files.optimizer), tensors, materialize ? { materialize } : {})
      }
      await writeFileAtomic(join(at, files.state), `${JSON.stringify(text, null, 2)}\n`)
    },
    { replaces: entry => Object.values(files).includes(entry) },
  )
}

/** Which file of a state a tensor is in. */
export type StateFile = 'weights' | 'optimizer'

/** A state whose files were opened and found to fit; nothing has changed yet. */
interface OpenedState {
  version: number
  seed: number
  lossScale: LossScaleState | undefined
  hasOptimizer: boolean
  /** Gives each tensor to `place`, one at a time. */
  read(place: (of: StateFile, name: string, tensor: Tensor) => Promise<void>): Promise<void>
  close(): Promise<void>
}

/** Refuses a state of another training, and files that do not hold the model's tensors, before anything is read. */
export async function openState(
  directory: string,
  training: TrainingIdentity,
  tensors: { weights: ReadonlyMap<string, Tensor>; optimizer: () => ReadonlyMap<string, Tensor> },
): Promise<OpenedState> {
  await recoverDirectory(directory)
  const saved = await readState(directory)
  const differing = differences(saved.training, training)
  if (differing.length > 0)
    throw new ModelError(`${directory} is the state of another training: ${differing.join('; ')}`)
  const opened: { of: StateFile; file: SafetensorsFile }[] = []
  const close = async (): Promise<void> => {
    for (const { file } of opened) await file.close()
  }
  const open = async (of: StateFile, into: ReadonlyMap<string, Tensor>): Promise<void> => {
    const file = await SafetensorsFile.open(join(directory, files[of]))
    opened.push({ of, file })
    refuseUnfit(file, into)
  }
  try {
    await open('weights', tensors.weights)
    if (saved.optimizer) await open('optimizer', tensors.optimizer())
  } catch (error) {
    await close()
    throw error
  }
  return {
    version: saved.version,
    seed: saved.seed,
    lossScale: saved.lossScale,
    hasOptimizer: saved.optimizer,
    async read(place) {
      for (const { of, file } of opened)
        for (const name of file.names) {
          const tensor = await file.read(name)
          await place(of, name, tensor).finally(() => tensor.dispose())
        }
    },
    close,
  }
}

/** What the weights of a state are computed with. */
export async function stateDtype(directory: string): Promise<'float32' | 'bfloat16' | 'float16'> {
  return z.enum(['float32', 'bfloat16', 'float16']).parse((await readState(directory)).training.dtype)
}

async function readState(directory: string): Promise<SavedState> {
  const path = join(directory, files.state)
  let raw: unknown
  try {
    raw = JSON.parse(await readFile(path, 'utf8'))
  } catch (cause) {
    throw new ModelError(`${path} cannot be read: ${systemProblem(cause, 'read')}`, { cause })
  }
  const parsed = stateSchema.safeParse(raw)
  if (!parsed.success) throw new ModelError(`${path} is not a training state:\n${z.prettifyError(parsed.error)}`)
  return parsed.data
}

function refuseUnfit(file: SafetensorsFile, tensors: ReadonlyMap<string, Tensor>): void {
  const described = (shape: readonly number[], dtype: string): string => `${dtype} [${shape.join(', ')}]`
  const wrong = [...tensors].flatMap(([name, { shape, dtype }]) => {
    if (!file.has(name)) return [`${name} is missing`]
    const found = file.info(name)
    const [is, expected] = [described(found.shape, found.dtype), described(shape, dtype)]
    return is === expected ? [] : [`${name} is ${is}, expected ${expected}`]
  })
  wrong.push(...file.names.filter(name => !tensors.has(name)).map(name => `${name} is not known`))
  if (wrong.length === 0) return
  const more = wrong.length > 5 ? `, and ${wrong.length - 5} more` : ''
  throw new ModelError(`${file.path} does not fit the model: ${wrong.slice(0, 5).join(', ')}${more}`)
}
