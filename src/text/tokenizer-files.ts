import { existsSync } from 'node:fs'
import { readdir, readFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { systemProblem } from '../errors/index.js'
import { modelsInside, recoverDirectory } from '../files/index.js'
import { checkPipeline } from './check-pipeline.js'
import { TokenizerError } from './errors.js'
import { isObject, type JsonObject } from './json.js'
import { effectivePipeline } from './llama-pipeline.js'

/** Everything in a model directory that says something about text. Only `tokenizer.json` has to be there. */
export interface TokenizerFiles {
  readonly dir: string
  /** `tokenizer.json`, as {@link effectivePipeline} has it. */
  readonly tokenizer: JsonObject
  /** The same as text, for the library. */
  readonly tokenizerText: string
  readonly tokenizerConfig: JsonObject
  readonly specialTokensMap: JsonObject
  readonly generationConfig: JsonObject
  readonly modelConfig: JsonObject
  /** Chat templates by name; the unnamed one is `default`. */
  readonly chatTemplates: ReadonlyMap<string, TemplateFile>
}

/** A chat template and the file it is in. */
export interface TemplateFile {
  readonly source: string
  readonly path: string
}

export async function readTokenizerFiles(dir: string): Promise<TokenizerFiles> {
  await recoverDirectory(dir)
  const tokenizerPath = join(dir, 'tokenizer.json')
  const tokenizerText = await readOptional(tokenizerPath)
  if (tokenizerText === undefined) {
    if (!existsSync(dir)) throw new TokenizerError(`${tokenizerPath}: not found; ${dir} does not exist`)
    const inside = modelsInside(dir)
    if (inside !== '') throw new TokenizerError(`${dir} is no model${inside}`)
    throw new TokenizerError(
      `${tokenizerPath}: not found. A tokenizer directory needs a tokenizer.json (vocab.txt, merges.txt and SentencePiece ` +
        'models alone are not read: save the tokenizer with transformers to get one).',
    )
  }
  const [tokenizerConfig, specialTokensMap, generationConfig, modelConfig] = await Promise.all([
    readJson(join(dir, 'tokenizer_config.json')),
    readJson(join(dir, 'special_tokens_map.json')),
    readJson(join(dir, 'generation_config.json')),
    readJson(join(dir, 'config.json')),
  ])
  const written = parseJson(tokenizerPath, tokenizerText)
  checkPipeline(tokenizerPath, written)
  const tokenizer = effectivePipeline({ tokenizer: written, tokenizerConfig, modelConfig })
  return {
    dir,
    tokenizer,
    // Where nothing is changed, the file as it was read: numbers keep every digit they were written with.
    tokenizerText: tokenizer === written ? tokenizerText : JSON.stringify(tokenizer),
    tokenizerConfig,
    specialTokensMap,
    generationConfig,
    modelConfig,
    chatTemplates: await readChatTemplates(dir, tokenizerConfig),
  }
}

/**
 * Template files replace the ones in `tokenizer_config.json` altogether, as in transformers: `chat_template.jinja` is the
 * default, each `additional_chat_templates/NAME.jinja` a named one. `chat_template.json`, the older file of multimodal
 * processors, comes before the config and after the `.jinja` files.
 */
async function readChatTemplates(dir: string, config: JsonObject): Promise<Map<string, TemplateFile>> {
  const templates = new Map<string, TemplateFile>()
  const path = join(dir, 'chat_template.jinja')
  const main = await readOptional(path)
  if (main !== undefined) templates.set('default', { source: main, path })
  const extraDir = join(dir, 'additional_chat_templates')
  for (const name of (await listOptional(extraDir)).filter(file => file.endsWith('.jinja')).sort()) {
    const extra = join(extraDir, name)
    templates.set(basename(name, '.jinja'), { source: await readFile(extra, 'utf8'), path: extra })
  }
  if (templates.size > 0) return templates
  const processorFile = join(dir, 'chat_template.json')
  const processor = await readJson(processorFile)
  if (processor.chat_template != null) return namedTemplates(processorFile, processor.chat_template)
  return namedTemplates(join(dir, 'tokenizer_config.json'), config.chat_template)
}

function namedTemplates(path: string, value: unknown): Map<string, TemplateFile> {
  if (value === undefined || value === null) return new Map()
  if (typeof value === 'string') return new Map([['default', { source: value, path }]])
  if (Array.isArray(value)) {
    return new Map(
      value.map((entry: unknown, i): [string, TemplateFile] => {
        if (isObject(entry) && typeof entry.name === 'string' && typeof entry.template === 'string') {
          return [entry.name, { source: entry.template, path }]
        }
        throw new TokenizerError(`${path}: chat_template[${i}]: expected {"name": string, "template": string}`)
      }),
    )
  }
  throw new TokenizerError(`${path}: chat_template: expected a string or a list of named templates`)
}

/** A file that is absent says nothing, so it reads as an empty object. */
async function readJson(path: string): Promise<JsonObject> {
  const text = await readOptional(path)
  return text === undefined ? {} : parseJson(path, text)
}

function parseJson(path: string, text: string): JsonObject {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (cause) {
    throw new TokenizerError(`${path}: not valid JSON (${(cause as Error).message}). Is the download complete?`, {
      cause,
    })
  }
  if (!isObject(value)) throw new TokenizerError(`${path}: expected a JSON object`)
  return value
}

async function readOptional(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8')
  } catch (cause) {
    if (isMissing(cause)) return undefined
    throw new TokenizerError(`${path}: ${systemProblem(cause, 'read')}`, { cause })
  }
}

async function listOptional(dir: string): Promise<string[]> {
  try {
    return await readdir(dir)
  } catch (cause) {
    if (isMissing(cause)) return []
    throw new TokenizerError(`${dir}: ${systemProblem(cause, 'read')}`, { cause })
  }
}

function isMissing(error: unknown): boolean {
  const code = (error as NodeJS.ErrnoException).code
  return code === 'ENOENT' || code === 'ENOTDIR'
}
