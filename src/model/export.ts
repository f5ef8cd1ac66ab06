/** What others load: a Hugging Face model directory, or an adapter in PEFT's format. Each appears whole or not at all. */
import { existsSync } from 'node:fs'
import { cp, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { architectureName, checkpointViews, type LowRank, type ModelConfig } from '../decoder/index.js'
import { processorFiles, temporaryTarget, tokenizerFiles, writeDirectoryAtomic } from '../files/index.js'
import { type DType, noGrad, type Tensor, unscoped, writeCheckpoint, zeros } from '../tensor/index.js'
import { ModelError } from './errors.js'
import { separatePadding } from './export-padding.js'
import { headOf } from './loading.js'
import type { Role } from './outputs.js'
import type { Parameters } from './parameters.js'
import type { ExportOptions, ExportReport } from './token-model.js'
import { once } from './weights.js'

export interface Exported {
  role: Role
  config: ModelConfig
  dtype: DType
  weights: Parameters
  /** Of what is trained, by name; none where the weights are float32, or no step was made yet. */
  masters: ReadonlyMap<string, Tensor>
  /** Where it was loaded from. */
  source: string | undefined
  /** Where the tokenizer and the generation config are copied from. */
  texts: string | undefined
  /** What a reward model's score passes over at the end of a sequence. */
  padding: number | undefined
}

type What = ExportOptions['what']

/** What this model can be written as. */
export function exportsOf({ adapter, merged }: Parameters): readonly What[] {
  return adapter && !merged ? ['model', 'adapter', 'base'] : ['model']
}

export async function exportModel(
  directory: string,
  model: Exported,
  { what, dtype, maxShardBytes }: ExportOptions,
): Promise<ExportReport> {
  const { adapter, merged } = model.weights
  if (dtype !== undefined && dtype !== 'float32')
    throw new RangeError(`export needs dtype: 'float32' or none, got ${JSON.stringify(dtype)}`)
  if (!(['model', 'adapter', 'base'] as readonly unknown[]).includes(what))
    throw new RangeError(`export needs what: 'model', 'adapter' or 'base', got ${JSON.stringify(what)}`)
  if (!exportsOf(model.weights).includes(what))
    throw new ModelError(
      merged
        ? `the adapter was merged into the weights permanently: cannot write what: '${what}', only what: 'model'`
        : `this model has no adapter: cannot write what: '${what}', only what: 'model'`,
    )
  let sizes = { parameters: 0, bytes: 0 }
  await writeDirectoryAtomic(
    directory,
    async at => {
      if (what === 'adapter') sizes = await writeAdapter(at, model, dtype)
      else {
        if (model.texts) await copyTokenizer(model.texts, at, ['generation_config.json'])
        const processor = model.source ?? model.texts
        if (processor) await copyFiles(processor, at, processorFiles)
        sizes = await writeModel(at, model, {
          what,
          ...(dtype && { dtype }),
          ...(maxShardBytes !== undefined && { maxShardBytes }),
        })
      }
    },
    { replaces: entry => (what === 'adapter' ? adapterFile : modelFile)(temporaryTarget(entry) ?? entry) },
  )
  return { directory, what, merged: what === 'model' && adapter !== undefined, ...sizes }
}

const adapterFile = (name: string): boolean => name === 'adapter_config.json' || name === 'adapter_model.safetensors'

const modelFile = (name: string): boolean =>
  [
    'config.json',
    'generation_config.json',
    'model.safetensors.index.json',
    ...processorFiles,
    ...tokenizerFiles,
  ].includes(name) || /^model(-(r\d+-)?\d{5,}-of-\d{5,})?\.safetensors$/.test(name)

async function writeAdapter(directory: string, model: Exported, dtype: ExportOptions['dtype']) {
  const { weights, source } = model
  const head = weights.tensors.get('score.weight')
  const made: Tensor[] = []
  const widen = dtype && model.dtype !== dtype ? widening(model, made) : undefined
  try {
    return sizesOf(await weights.adapter!.write(directory, { base: source ?? '', head, ...(widen && { widen }) }))
  } finally {
    for (const tensor of made) tensor.dispose()
  }
}

/** Config and weights; an adapter is part of them unless only the base is wanted. */
export async function writeModel(
  directory: string,
  model: Exported,
  { what, dtype = model.dtype, maxShardBytes }: { what: 'model' | 'base'; dtype?: DType; maxShardBytes?: number },
) {
  const { role, config, weights, padding } = model
  const raw: Record<string, unknown> = {
    ...config.raw,
    architectures: [architectureName(config.decoder.family, headOf(role))],
    dtype,
  }
  delete raw.torch_dtype
  if (role !== 'language') Object.assign(raw, { id2label: { 0: 'LABEL_0' }, label2id: { LABEL_0: 0 } })
  if (role === 'reward') raw.pad_token_id = padding ?? (await separatePadding(directory, raw))
  await writeFile(join(directory, 'config.json'), `${JSON.stringify(raw, null, 2)}\n`)
  const views = unscoped(() => checkpointViews(weights.weightMap, weights.tensors))
  const wide = dtype === model.dtype ? undefined : wideViews(model)
  const trained = weights.weightMap.filter(({ name }) => model.masters.has(name))
  const fromMasters = new Set(trained.flatMap(({ parts }) => parts.map(({ name }) => name)))
  const adapted = what === 'model' ? weights.adapted() : new Map<string, LowRank>()
  try {
    await writeCheckpoint(directory, wide ?? views, {
      ...(maxShardBytes !== undefined && { maxShardBytes }),
      // One merged or widened copy at a time: the live weights stay as they are, and memory does not double.
      materialize: async (name, tensor) => {
        const low = adapted.get(name)
        if (!wide) return low && (await once(() => [tensor.add(low.b.matmul(low.a), { alpha: low.scale })]))[0]
        return fromMasters.has(name) ? undefined : widenedCopy(model, views.get(name)!, low)
      },
    })
    return sizesOf(wide ?? views)
  } finally {
    for (const view of [...views.values(), ...(wide?.values() ?? [])]) view.dispose()
  }
}

/** float32 tensors by the checkpoint's names: views of the masters, and for weights without one tensors that only have its shape. */
function wideViews({ weights, masters }: Exported): Map<string, Tensor> {
  return unscoped(() =>
    noGrad(() => {
      const shapes = weights.weightMap.map(({ name, shape }) => [
        name,
        masters.get(name) ?? zeros([1], { dtype: 'float32' }).expand([...shape]),
      ])
      return checkpointViews(weights.weightMap, new Map(shapes as [string, Tensor][]))
    }),
  )
}

/** A weight in float32, with what an adapter adds to it. */
async function widenedCopy(model: Exported, weight: Tensor, low: LowRank | undefined): Promise<Tensor> {
  const made: Tensor[] = []
  const widen = widening(model, made)
  try {
    const [a, b] = low ? [widen(low.a), widen(low.b)] : []
    const [copy] = await once(() => {
      const wide = weight.toCopy({ dtype: 'float32' })
      return [a && b && low ? wide.add(b.matmul(a), { alpha: low.scale }) : wide]
    })
    return copy!
  } finally {
    for (const tensor of made) tensor.dispose()
  }
}

/** Gives a tensor's master, or a float32 copy, which is added to `made`. */
function widening({ weights, masters }: Exported, made: Tensor[]): (tensor: Tensor) => Tensor {
  const trained = new Map([...weights.trained()].map(([name, tensor]) => [tensor, masters.get(name)]))
  return tensor => {
    const master = trained.get(tensor)
    if (master) return master
    const copy = unscoped(() => noGrad(() => tensor.toCopy({ dtype: 'float32' })))
    made.push(copy)
    return copy
  }
}

function sizesOf(tensors: ReadonlyMap<string, Tensor>): Pick<ExportReport, 'parameters' | 'bytes'> {
  const all = [...tensors.values()]
  return {
    parameters: all.reduce((sum, { numel }) => sum + numel, 0),
    bytes: all.reduce((sum, { nbytes }) => sum + nbytes, 0),
  }
}

/** Copies what there is of a tokenizer, and of other files beside it. */
export async function copyTokenizer(from: string, to: string, beside: readonly string[] = []): Promise<void> {
  await copyFiles(from, to, [...beside, ...tokenizerFiles])
}

async function copyFiles(from: string, to: string, names: readonly string[]): Promise<void> {
  for (const name of names)
    if (existsSync(join(from, name))) await cp(join(from, name), join(to, name), { recursive: true })
}
