/** LoRA adapters in PEFT's format: `adapter_config.json` and `adapter_model.safetensors`. */
import { existsSync } from 'node:fs'
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import {
  type DecoderConfig,
  type LowRank,
  type Projection,
  projectionPath,
  projectionShape,
  projections,
} from '../decoder/index.js'
import { systemProblem } from '../errors/index.js'
import { recoverDirectory } from '../files/index.js'
import {
  type Device,
  type DType,
  noGrad,
  RandomGenerator,
  randn,
  SafetensorsFile,
  scope,
  type Tensor,
  unscoped,
  writeSafetensors,
  zeros,
} from '../tensor/index.js'
import { type AdapterOptions, parseAdapterConfig, towerModules, unknownTarget } from './adapter-config.js'
import { ModelError } from './errors.js'

interface Pair {
  a: Tensor
  b: Tensor
}

/** @internal */
export const adapterWeightsFile = 'adapter_model.safetensors'
const configFile = 'adapter_config.json'
/** A tensor of the model in float32: its master, or a copy. */
type Widen = (tensor: Tensor) => Tensor
const prefix = 'base_model.model.'
const headName = `${prefix}score.weight`
/** Where PEFT finds the layers of a vision-language model, whatever its checkpoint calls them. */
const languageRoot = 'model.language_model.'

type Root = 'model.' | typeof languageRoot

/** PEFT's name of a projection's matrices. */
const nameUnder = (root: Root, at: string): string => `${prefix}${root}${at.slice('model.'.length)}`

export class Adapter {
  private constructor(
    readonly options: AdapterOptions,
    /** What the product of the two matrices is multiplied with. */
    readonly scale: number,
    private readonly pairs: ReadonlyMap<string, Pair>,
    /** What the names of its matrices begin with. */
    private readonly root: Root,
    /** What its `adapter_config.json` said, where it was read from one. */
    readonly raw: Readonly<Record<string, unknown>>,
  ) {}

  /** A new adapter that changes nothing yet: `a` random, `b` zero, as PEFT starts. */
  static create(
    config: DecoderConfig,
    options: AdapterOptions & { seed: number; dtype: DType; device: Device },
  ): Adapter {
    const { rank, alpha, dropout, targets, seed, dtype, device } = options
    if (!Number.isFinite(alpha)) throw new RangeError(`an adapter's alpha is a number, got ${alpha}`)
    if (!Number.isInteger(rank) || rank < 1)
      throw new RangeError(`an adapter's rank is a positive integer, got ${rank}`)
    if (!(dropout >= 0 && dropout < 1)) throw new RangeError(`an adapter's dropout is in [0, 1), got ${dropout}`)
    if (targets.length === 0) throw new RangeError('an adapter needs at least one target module')
    for (const target of targets) if (!projections.includes(target)) throw new RangeError(unknownTarget(target))
    const generator = new RandomGenerator({ seed })
    const pairs = unscoped(() => {
      const made = new Map<string, Pair>()
      for (let layer = 0; layer < config.layers; layer++) {
        for (const target of targets) {
          const [rows, columns] = projectionShape(config, target)
          // kaiming_uniform with a = sqrt(5) has this variance.
          const a = scope(() =>
            randn([rank, columns], { generator })
              .mul(1 / Math.sqrt(3 * columns))
              .to(device, dtype),
          )
          made.set(projectionPath(layer, target), { a, b: zeros([rows, rank], { dtype, device }) })
        }
      }
      return made
    })
    generator.dispose()
    const root = config.vision ? languageRoot : 'model.'
    return new Adapter({ rank, alpha, dropout, targets }, alpha / rank, pairs, root, {})
  }

  /** Reads an adapter; a head that was trained and saved with it is copied into `head`. */
  static async load(
    directory: string,
    config: DecoderConfig,
    options: { dtype: DType; device: Device; head?: Tensor | undefined },
  ): Promise<Adapter> {
    await recoverDirectory(directory)
    const path = configIn(directory)
    const parsed = parseAdapterConfig(await readJson(path), path)
    const pairs = new Map<string, Pair>()
    let root: Root = 'model.'
    const file = await SafetensorsFile.open(join(directory, adapterWeightsFile))
    try {
      const left = new Set(file.names)
      const inTower = file.names.find(name => /\bvisual\./.test(name))
      if (inTower)
        throw new ModelError(
          `${directory}: the adapter changes the vision tower (${inTower}); adapters are only supported on the language layers`,
        )
      root = file.names.some(name => name.startsWith(`${prefix}${languageRoot}`)) ? languageRoot : 'model.'
      const read = async (name: string, shape: readonly number[]): Promise<Tensor> => {
        if (!left.delete(name)) throw new ModelError(`${directory}: the adapter has no ${name}`)
        const { shape: found } = file.info(name)
        if (found.join() !== shape.join())
          throw new ModelError(`${directory}: ${name} is [${found.join(', ')}], expected [${shape.join(', ')}]`)
        const cpu = await file.read(name, { dtype: options.dtype })
        if (options.device === 'cpu') return cpu
        const moved = unscoped(() => cpu.to(options.device))
        cpu.dispose()
        return moved
      }
      for (let layer = 0; layer < config.layers; layer++) {
        for (const target of parsed.options.targets) {
          const [rows, columns] = projectionShape(config, target)
          const at = projectionPath(layer, target)
          const named = nameUnder(root, at)
          const a = await read(`${named}.lora_A.weight`, [parsed.options.rank, columns])
          try {
            pairs.set(at, { a, b: await read(`${named}.lora_B.weight`, [rows, parsed.options.rank]) })
          } catch (error) {
            a.dispose()
            throw error
          }
        }
      }
      if (options.head && left.has(headName)) {
        const saved = await read(headName, options.head.shape)
        noGrad(() => options.head!.copy_(saved))
        saved.dispose()
      }
      if (left.size > 0)
        throw new ModelError(
          `${directory}: the adapter has tensors that belong to no target module: ${[...left].slice(0, 5).join(', ')}`,
        )
    } catch (error) {
      for (const { a, b } of pairs.values()) {
        a.dispose()
        b.dispose()
      }
      throw error
    } finally {
      await file.close()
    }
    return new Adapter(parsed.options, parsed.scale, pairs, root, parsed.raw)
  }

  lowRank(layer: number, projection: Projection): LowRank | undefined {
    const pair = this.pairs.get(projectionPath(layer, projection))
    return pair && { ...pair, scale: this.scale, dropout: this.options.dropout }
  }

  /** Its matrices by PEFT's names. */
  tensors(): Map<string, Tensor> {
    const named = new Map<string, Tensor>()
    for (const [at, { a, b }] of this.pairs) {
      named.set(`${nameUnder(this.root, at)}.lora_A.weight`, a)
      named.set(`${nameUnder(this.root, at)}.lora_B.weight`, b)
    }
    return named
  }

  /**
   * Writes PEFT's two files into a directory, and answers with their tensors. A head of one number, which trains with the
   * adapter, is written as PEFT does it. `widen` gives what is written instead of a tensor, in float32.
   */
  async write(
    directory: string,
    { base, head, widen }: { base: string; head: Tensor | undefined; widen?: Widen },
  ): Promise<ReadonlyMap<string, Tensor>> {
    const { rank, alpha, dropout, targets } = this.options
    const config = {
      base_model_name_or_path: base,
      bias: 'none',
      fan_in_fan_out: false,
      inference_mode: true,
      init_lora_weights: true,
      peft_type: 'LORA',
      task_type: 'CAUSAL_LM',
      use_dora: false,
      use_rslora: false,
      ...this.raw,
      ...(head && { task_type: 'SEQ_CLS', modules_to_save: ['score'] }),
      r: rank,
      lora_alpha: alpha,
      lora_dropout: dropout,
      target_modules: targets,
      // Some towers have projections of the same names, which PEFT would adapt too.
      ...(this.root === languageRoot && { exclude_modules: towerModules }),
    }
    const tensors = this.tensors()
    if (head) tensors.set(headName, head)
    const written = widen ? new Map([...tensors].map(([name, tensor]) => [name, widen(tensor)])) : tensors
    await writeSafetensors(join(directory, adapterWeightsFile), written, { metadata: { format: 'pt' } })
    await writeFile(join(directory, configFile), `${JSON.stringify(config, null, 2)}\n`)
    return written
  }

  dispose(): void {
    for (const { a, b } of this.pairs.values()) {
      a.dispose()
      b.dispose()
    }
  }
}

/** The shape of the adapter in a directory, and whether it has the head of a reward model, as its config has it. */
export async function inspectAdapter(directory: string): Promise<AdapterOptions & { head: 'score' | 'none' }> {
  await recoverDirectory(directory)
  const path = configIn(directory)
  const { options, raw } = parseAdapterConfig(await readJson(path), path)
  const saved = Array.isArray(raw.modules_to_save) ? raw.modules_to_save : []
  return { ...options, head: saved.includes('score') ? 'score' : 'none' }
}

async function readJson(path: string): Promise<unknown> {
  try {
    return JSON.parse(await readFile(path, 'utf8'))
  } catch (cause) {
    throw new ModelError(`${path} cannot be read: ${systemProblem(cause, 'read')}`, { cause })
  }
}

function configIn(directory: string): string {
  const path = join(directory, configFile)
  if (!existsSync(path)) throw new ModelError(`${directory} has no ${configFile}; expected an adapter in PEFT format`)
  return path
}
