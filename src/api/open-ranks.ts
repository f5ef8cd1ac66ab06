/** Engines and models of functions that take `devices`. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { type DeviceChoice, DistributedGenerator, DistributedModel, Ranks } from '../distributed/index.js'
import { InputError } from '../errors/index.js'
import { type LoadOptions, LocalModel, type Role } from '../model/index.js'
import { configuredStops, type OpenedEngine, type OpenOptions, openEngine } from '../rollout/index.js'
import { Tokenizer } from '../text/index.js'

/** An engine of this process, or one on every rank; the weights of those cannot be exchanged. */
interface RankedEngine extends Pick<OpenedEngine, 'tokenizer' | 'close'> {
  readonly engine: OpenedEngine['engine'] | DistributedGenerator
  readonly weights: OpenedEngine['weights'] | undefined
  /** Called when a rank is lost, also while no request is in flight. */
  readonly onFailure: (listener: (error: Error) => void) => void
}

type RankedOptions = OpenOptions & Pick<DeviceChoice, 'devices'>

export async function openRankedEngine(directory: string, options: RankedOptions): Promise<RankedEngine> {
  const { devices, ...alone } = options
  const ranks = await Ranks.of({ device: options.device, devices }, options.signal)
  const world = await ranks.world(options.signal)
  const onFailure: RankedEngine['onFailure'] = listener => ranks.onFailure(listener)
  if (!world) {
    const place = devices === undefined ? {} : { device: ranks.device }
    return { ...(await openEngine(directory, { ...alone, ...place })), onFailure }
  }
  const { adapter, device: _, signal, onProgress, chatTemplate, adapters, memory, ...engine } = alone
  try {
    if (adapters !== undefined || memory !== undefined)
      throw new InputError('devices: adapters of clients need an engine of one process; leave devices out')
    const tokenizer = existsSync(join(directory, 'tokenizer.json'))
      ? await Tokenizer.load(directory, { chatTemplate })
      : undefined
    const model = await DistributedModel.load(world, directory, {
      role: 'language',
      ...(adapter === undefined ? {} : { adapter }),
      ...(signal ? { signal } : {}),
      ...(onProgress ? { onProgress } : {}),
    })
    if (adapter !== undefined) await model.mergeAdapter()
    const stops = tokenizer
      ? { tokenizer: { own: tokenizer, directory } }
      : { eosIds: await configuredStops(directory, model.config.raw) }
    const made = await DistributedGenerator.open(model, { ...engine, ...stops })
    const close = async (): Promise<void> => {
      await made.close()
      model.dispose()
      await ranks.close()
    }
    return { engine: made, tokenizer, weights: undefined, close, onFailure }
  } catch (error) {
    await ranks.close()
    throw error
  }
}

interface RankedModel {
  readonly model: LocalModel | DistributedModel
  close(): Promise<void>
}

/** A model that scores, of the role that its directory has. */
export async function loadRankedModel(
  directory: string,
  { device, devices, ...options }: Omit<LoadOptions<Role>, 'device'> & DeviceChoice,
): Promise<RankedModel> {
  const ranks = await Ranks.of({ device, devices }, options.signal)
  try {
    const world = await ranks.world(options.signal)
    const model = world
      ? await DistributedModel.load<Role>(world, directory, options)
      : await LocalModel.load<Role>(directory, { ...options, device: ranks.device })
    const close = async (): Promise<void> => {
      model.dispose()
      await ranks.close()
    }
    return { model, close }
  } catch (error) {
    await ranks.close()
    throw error
  }
}
