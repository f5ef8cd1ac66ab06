/** LoRA adapters in PEFT's format: `adapter_config.json` and `adapter_model.safetensors`. */
import { mkdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import {
  type DecoderConfig,
  type LowRank,
  type Projection,
  projectionPath,
  projectionShape,
  projections,
} from '../decoder/index.js'
import { writeFileAtomic } from '../files/index.js'
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
import { ModelError } from './errors.js'

export interface AdapterOptions {
  rank: number
  alpha: number
  /** Of the adapter's input, while training. */
  dropout: number
  targets: readonly Projection[]
}

interface Pair {
  a: Tensor
  b: Tensor
}

const weightsFile = 'adapter_model.safetensors'
const configFile = 'adapter_config.json'
const prefix = 'base_model.model.'
const headName = `${prefix}score.weight`

export class Adapter {
  private constructor(
    readonly options: AdapterOptions,
    /** What the product of the two matrices is multiplied with. */
    readonly scale: number,
    private readonly pairs: ReadonlyMap<string, Pair>,
    /** PEFT's file as it was, for writing it again. */
    private readonly raw: Readonly<Record<string, unknown>>,
  ) {}

  /** A new adapter that changes nothing yet: `a` random, `b` zero, as PEFT starts. */
  static create(
    config: DecoderConfig,
    options: AdapterOptions & { seed: number; dtype: DType; device: Device },
  ): Adapter {
    const { rank, alpha, dropout, targets, seed, dtype, device } = options
    if (!Number.isInteger(rank) || rank < 1)
      throw new RangeError(`an adapter's rank is a positive integer, got ${rank}`)
    if (!(dropout >= 0 && dropout < 1)) throw new RangeError(`an adapter's dropout is in [0, 1), got ${dropout}`)
    if (targets.length === 0) throw new RangeError('an adapter needs at least one target module')
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
    return new Adapter({ rank, alpha, dropout, targets }, alpha / rank, pairs, {})
  }

  /** Reads an adapter; a head that was trained and saved with it is copied into `head`. */
  static async load(
    directory: string,
    config: DecoderConfig,
    options: { dtype: DType; device: Device; head?: Tensor | undefined },
  ): Promise<Adapter> {
    const path = join(directory, configFile)
    const raw = await readJson(path)
    const parsed = parseAdapterConfig(raw, path)
    const pairs = new Map<string, Pair>()
    const file = await SafetensorsFile.open(join(directory, weightsFile))
    try {
      const left = new Set(file.names)
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
          const a = await read(`${prefix}${at}.lora_A.weight`, [parsed.options.rank, columns])
          try {
            pairs.set(at, { a, b: await read(`${prefix}${at}.lora_B.weight`, [rows, parsed.options.rank]) })
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
          `${directory}: the adapter holds tensors that no target module takes: ${[...left].slice(0, 5).join(', ')}`,
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
    return new Adapter(parsed.options, parsed.scale, pairs, raw)
  }

  lowRank(layer: number, projection: Projection): LowRank | undefined {
    const pair = this.pairs.get(projectionPath(layer, projection))
    return pair && { ...pair, scale: this.scale, dropout: this.options.dropout }
  }

  /** Its matrices by PEFT's names. */
  tensors(): Map<string, Tensor> {
    const named = new Map<string, Tensor>()
    for (const [at, { a, b }] of this.pairs) {
      named.set(`${prefix}${at}.lora_A.weight`, a)
      named.set(`${prefix}${at}.lora_B.weight`, b)
    }
    return named
  }

  /** Writes PEFT's two files. A head of one number, which trains with the adapter, is written as PEFT does it. */
  async save(directory: string, { base, head }: { base: string; head: Tensor | undefined }): Promise<void> {
    await mkdir(directory, { recursive: true })
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
    }
    const tensors = this.tensors()
    if (head) tensors.set(headName, head)
    await writeSafetensors(join(directory, weightsFile), tensors, { metadata: { format: 'pt' } })
    await writeFileAtomic(join(directory, configFile), `${JSON.stringify(config, null, 2)}\n`)
  }

  dispose(): void {
    for (const { a, b } of this.pairs.values()) {
      a.dispose()
      b.dispose()
    }
  }
}

async function readJson(path: string): Promise<Record<string, unknown>> {
  try {
    return JSON.parse(await readFile(path, 'utf8')) as Record<string, unknown>
  } catch (cause) {
    throw new ModelError(`${path} cannot be read: ${cause instanceof Error ? cause.message : String(cause)}`, { cause })
  }
}

/** Refuses every field that would change the numbers and is not implemented. */
function parseAdapterConfig(
  raw: Readonly<Record<string, unknown>>,
  file: string,
): { options: AdapterOptions; scale: number } {
  const refuse = (why: string): never => {
    throw new ModelError(`${file}: ${why}`)
  }
  const empty = (value: unknown): boolean =>
    value == null || (typeof value === 'object' && Object.keys(value).length === 0)
  if (raw.peft_type !== 'LORA') refuse(`peft_type ${JSON.stringify(raw.peft_type)} is not supported; only LORA is`)
  if (raw.use_dora === true) refuse('use_dora is not supported')
  if (raw.fan_in_fan_out === true) refuse('fan_in_fan_out is not supported')
  if ((raw.bias ?? 'none') !== 'none' || raw.lora_bias === true) refuse('adapters with biases are not supported')
  for (const field of [
    'rank_pattern',
    'alpha_pattern',
    'layers_to_transform',
    'layer_replication',
    'trainable_token_indices',
    'target_parameters',
    'exclude_modules',
    'alora_invocation_tokens',
    'arrow_config',
  ]) {
    if (!empty(raw[field])) refuse(`${field} is not supported`)
  }
  if (raw.use_qalora === true) refuse('use_qalora is not supported')
  // Others change the base weights before training starts: the file's matrices are not relative to the checkpoint.
  if (![undefined, null, true, false, 'gaussian', 'orthogonal', 'eva'].includes(raw.init_lora_weights as null))
    refuse(`init_lora_weights ${JSON.stringify(raw.init_lora_weights)} is not supported`)
  const saved = (raw.modules_to_save ?? []) as unknown
  // PEFT adds both names for sequence classification, whatever the model calls its head.
  if (!Array.isArray(saved) || saved.some(name => name !== 'score' && name !== 'classifier'))
    refuse(`modules_to_save ${JSON.stringify(saved)} is not supported, except a reward model's score`)
  const number = (name: string): number =>
    typeof raw[name] === 'number' && Number.isFinite(raw[name])
      ? raw[name]
      : refuse(`${name} should be a number, got ${JSON.stringify(raw[name])}`)
  const rank = number('r')
  const alpha = number('lora_alpha')
  const modules = raw.target_modules === 'all-linear' ? projections : raw.target_modules
  if (!Array.isArray(modules))
    refuse(`target_modules should be a list of module names, got ${JSON.stringify(raw.target_modules)}`)
  const targets = (modules as readonly string[]).map(
    name =>
      projections.find(p => p === name) ??
      refuse(`target module ${JSON.stringify(name)} is not supported; supported are ${projections.join(', ')}`),
  )
  const scale = raw.use_rslora === true ? alpha / Math.sqrt(rank) : alpha / rank
  return { options: { rank, alpha, dropout: raw.lora_dropout == null ? 0 : number('lora_dropout'), targets }, scale }
}
