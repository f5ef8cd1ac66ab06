import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { processorFiles, tokenizerFiles } from '../files/index.js'

const described = ['config.json', 'generation_config.json', 'adapter_config.json', ...processorFiles, ...tokenizerFiles]
const index = 'model.safetensors.index.json'

/**
 * The files of a directory that a model, an adapter or a tokenizer is read from, by their names in it: weights, configs, tokenizer,
 * chat templates. What else lies there (other formats of the same weights, a README) is not among them.
 */
export async function modelFiles(directory: string): Promise<string[]> {
  const names = await readdir(directory, { recursive: true }).catch((): string[] => [])
  const weights = names.includes('model.safetensors')
    ? ['model.safetensors']
    : names.includes(index)
      ? [index, ...(await shardsOf(join(directory, index)))]
      : []
  const kept = new Set([...weights, 'adapter_model.safetensors', ...described])
  return names
    .map(name => name.replaceAll('\\', '/'))
    .filter(name => kept.has(name) || name.startsWith('additional_chat_templates/'))
    .filter(name => name !== 'additional_chat_templates')
    .sort()
}

async function shardsOf(path: string): Promise<string[]> {
  const { weight_map: map = {} } = JSON.parse(await readFile(path, 'utf8')) as { weight_map?: Record<string, string> }
  return [...new Set(Object.values(map))]
}
