/** What others load: a Hugging Face model directory, or an adapter in PEFT's format. Each appears whole or not at all. */
import { cp, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { architectureName, checkpointViews, type ModelConfig } from '../decoder/index.js'
import { temporaryTarget, writeDirectoryAtomic } from '../files/index.js'
import { type DType, type Tensor, unscoped, writeCheckpoint } from '../tensor/index.js'
import { ModelError } from './errors.js'
import { headOf } from './loading.js'
import type { Role } from './outputs.js'
import type { Parameters } from './parameters.js'
import type { ExportOptions, ExportReport } from './token-model.js'
import { once } from './weights.js'

/** What a tokenizer consists of. */
export const tokenizerFiles = [
  'tokenizer.json',
  'tokenizer_config.json',
  'special_tokens_map.json',
  'added_tokens.json',
  'chat_template.jinja',
  'chat_template.json',
  'additional_chat_templates',
  'vocab.json',
  'merges.txt',
  'tokenizer.model',
]

export interface Exported {
  role: Role
  config: ModelConfig
  dtype: DType
  weights: Parameters
  /** Where the tokenizer and the generation config are copied from. */
  source: string | undefined
}

type What = ExportOptions['what']

/** What this model can be written as. */
export function exportsOf({ adapter, merged }: Parameters): readonly What[] {
  return adapter && !merged ? ['model', 'adapter', 'base'] : ['model']
}

export async function exportModel(
  directory: string,
  model: Exported,
  { what, maxShardBytes }: ExportOptions,
): Promise<ExportReport> {
  const { adapter, merged } = model.weights
  if (!(['model', 'adapter', 'base'] as readonly unknown[]).includes(what))
    throw new RangeError(`export needs what: 'model', 'adapter' or 'base', got ${JSON.stringify(what)}`)
  if (!exportsOf(model.weights).includes(what))
    throw new ModelError(
      merged
        ? `the adapter was merged into the weights for good: there is no ${what} to write, only what: 'model'`
        : `this model has no adapter: there is no ${what} to write, only what: 'model'`,
    )
  let sizes = { parameters: 0, bytes: 0 }
  await writeDirectoryAtomic(
    directory,
    async at => {
      if (what === 'adapter') sizes = await writeAdapter(at, model)
      else {
        await copyTexts(at, model.source)
        sizes = await writeModel(at, model, { what, ...(maxShardBytes !== undefined && { maxShardBytes }) })
      }
    },
    { replaces: entry => (what === 'adapter' ? adapterFile : modelFile)(temporaryTarget(entry) ?? entry) },
  )
  return { directory, what, merged: what === 'model' && adapter !== undefined, ...sizes }
}

const adapterFile = (name: string): boolean => name === 'adapter_config.json' || name === 'adapter_model.safetensors'

const modelFile = (name: string): boolean =>
  ['config.json', 'generation_config.json', 'model.safetensors.index.json', ...tokenizerFiles].includes(name) ||
  /^model(-(r\d+-)?\d{5,}-of-\d{5,})?\.safetensors$/.test(name)

async function writeAdapter(directory: string, { weights, source }: Exported) {
  const head = weights.tensors.get('score.weight')
  return sizesOf(await weights.adapter!.write(directory, { base: source ?? '', head }))
}

/** Config and weights; an adapter is part of them unless only the base is wanted. */
export async function writeModel(
  directory: string,
  { role, config, dtype, weights }: Exported,
  { what, maxShardBytes }: { what: 'model' | 'base'; maxShardBytes?: number },
) {
  const raw: Record<string, unknown> = {
    ...config.raw,
    architectures: [architectureName(config.decoder.family, headOf(role))],
    dtype,
  }
  delete raw.torch_dtype
  if (role !== 'language') Object.assign(raw, { id2label: { 0: 'LABEL_0' }, label2id: { LABEL_0: 0 } })
  await writeFile(join(directory, 'config.json'), `${JSON.stringify(raw, null, 2)}\n`)
  const views = unscoped(() => checkpointViews(weights.weightMap, weights.tensors))
  const adapted = what === 'model' ? weights.adapted() : new Map()
  try {
    await writeCheckpoint(directory, views, {
      ...(maxShardBytes !== undefined && { maxShardBytes }),
      // One merged copy at a time: the live weights stay as they are, and memory does not double.
      materialize: async (name, tensor) => {
        const low = adapted.get(name)
        return low && (await once(() => [tensor.add(low.b.matmul(low.a), { alpha: low.scale })]))[0]
      },
    })
    return sizesOf(views)
  } finally {
    for (const view of views.values()) view.dispose()
  }
}

function sizesOf(tensors: ReadonlyMap<string, Tensor>): Pick<ExportReport, 'parameters' | 'bytes'> {
  const all = [...tensors.values()]
  return {
    parameters: all.reduce((sum, { numel }) => sum + numel, 0),
    bytes: all.reduce((sum, { nbytes }) => sum + nbytes, 0),
  }
}

async function copyTexts(directory: string, source: string | undefined): Promise<void> {
  if (!source) return
  for (const name of ['generation_config.json', ...tokenizerFiles]) {
    const from = join(source, name)
    const exists = await stat(from).then(
      () => true,
      () => false,
    )
    if (exists) await cp(from, join(directory, name), { recursive: true })
  }
}
