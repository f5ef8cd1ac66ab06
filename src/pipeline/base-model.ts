/** The base model of the pipeline, as a directory. */
import { existsSync } from 'node:fs'
import { link, readdir, readFile, realpath, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { InputError, WhetstoneError } from '../errors/index.js'
import { tokenizerFiles, writeDirectoryAtomic } from '../files/index.js'
import { copyTokenizer, initModel, type LocalModel, newConfig, readConfig, sizes } from '../model/index.js'
import { embeddingRows, Tokenizer, tokenizerFingerprint } from '../text/index.js'
import { checkModel, checkTokenizer, type ExtensionContext, type PipelineExtensions } from './extensions.js'
import { isFileOrLink } from './fingerprints.js'

interface BaseModelOptions extends ExtensionContext {
  readonly extensions: PipelineExtensions
  /** Where to write a model that is not yet a directory. */
  readonly into: string
  /** `keep`: a model that a function made for an earlier attempt is taken as it is. */
  readonly existing: 'keep' | 'make'
}

/** A directory with a model and its tokenizer: the config's own, or one that is made in `into`. */
export async function baseModelDirectory(options: BaseModelOptions): Promise<string> {
  const { config, extensions, into, existing, ...context } = options
  const { baseModel, tokenizerPath } = config
  const { loadTokenizer, loadBaseModel } = extensions
  if (existing === 'keep' && (loadTokenizer || loadBaseModel) && existsSync(join(into, 'config.json'))) return into
  const tokenizer = loadTokenizer
    ? checkTokenizer(await loadTokenizer({ config, ...context }))
    : tokenizerPath === undefined
      ? undefined
      : await givenTokenizer(tokenizerPath)
  const given = loadBaseModel
    ? checkModel('loadBaseModel', await loadBaseModel({ config, ...context, tokenizer }))
    : baseModel
  if (given === undefined)
    throw new InputError(
      'baseModel: missing; expected the model to start from: a model directory, or {family, size, seed}',
      {
        remedy: 'Set it in the config, with --set baseModel=DIR, or in code: runFullPipeline({ baseModel }).',
      },
    )
  if (typeof given === 'string') {
    if (tokenizer === undefined) return given
    if (loadTokenizer === undefined) {
      await checkSameTokenizer(given, tokenizer.dir)
      if (await sameFiles(given, tokenizer.dir)) return given
    }
    return withTokenizer(given, { tokenizer, option: loadTokenizer ? 'loadTokenizer' : 'tokenizerPath' }, into)
  }
  if ('family' in given) return randomModel(given, tokenizer!, into, options.signal)
  return writtenModel(given, tokenizer, into)
}

/** The tokenizer that `tokenizerPath` names. */
export async function givenTokenizer(path: string): Promise<Tokenizer> {
  return Tokenizer.load(path).catch(cause => {
    if (!(cause instanceof WhetstoneError)) throw cause
    throw new InputError(`tokenizerPath: ${cause.message}`, { cause })
  })
}

/** Two different tokenizers: ids of one have another meaning in the other. */
export async function checkSameTokenizer(model: string, tokenizer: string): Promise<void> {
  const [own, other] = await Promise.all([model, tokenizer].map(tokenizerFingerprint))
  if (own !== undefined && own !== other)
    throw new InputError(
      `tokenizerPath: ${tokenizer} and ${model} have different tokenizers, so token ids have different ` +
        'meanings; remove tokenizerPath, or give the tokenizer of the model',
    )
}

/** Whether all files of two tokenizers are the same: the chat template and the special tokens too. */
async function sameFiles(model: string, tokenizer: string): Promise<boolean> {
  const bytes = (path: string): Promise<string> => readFile(path, 'utf8').catch(() => '')
  for (const name of tokenizerFiles)
    if ((await bytes(join(model, name))) !== (await bytes(join(tokenizer, name)))) return false
  return true
}

/** A model of random weights, which the config asked for. */
async function randomModel(
  { family, size, seed }: { family: Parameters<typeof newConfig>[0]; size: keyof typeof sizes; seed: number },
  tokenizer: Tokenizer,
  out: string,
  signal: AbortSignal,
): Promise<string> {
  const tokens = { bos: tokenizer.bosId, eos: tokenizer.eosId, pad: tokenizer.padId }
  const config = newConfig(family, { ...sizes[size], vocabSize: embeddingRows(tokenizer) }, tokens)
  await writeDirectoryAtomic(
    out,
    at => initModel({ config, seed, dtype: 'float32', tokenizer: tokenizer.dir, tokens, out: at, signal }),
    { replaces: () => true },
  )
  return out
}

/** A model object as a directory, with the tokenizer that was loaded for it. */
export async function writtenModel(model: LocalModel, tokenizer: Tokenizer | undefined, out: string): Promise<string> {
  try {
    await writeDirectoryAtomic(
      out,
      async at => {
        await model.export(at, { what: 'model' })
        if (tokenizer) await copyTokenizer(tokenizer.dir, at)
      },
      { replaces: () => true },
    )
    return out
  } finally {
    model.dispose()
  }
}

/** The weights of a directory beside another tokenizer, as links: no weight is there twice. */
async function withTokenizer(
  model: string,
  { tokenizer, option }: { tokenizer: Tokenizer; option: string },
  out: string,
): Promise<string> {
  const { vocabSize } = (await readConfig(model)).decoder
  if (tokenizer.vocabSize > vocabSize)
    throw new InputError(
      `${option}: the tokenizer in ${tokenizer.dir} has ${tokenizer.vocabSize} tokens, and ${model} a vocabulary of ${vocabSize}`,
    )
  await writeDirectoryAtomic(
    out,
    async at => {
      for (const entry of await readdir(model, { withFileTypes: true })) {
        const found = join(model, entry.name)
        if (tokenizerFiles.includes(entry.name) || !(await isFileOrLink(entry, found))) continue
        const [from, to] = [await realpath(found), join(at, entry.name)]
        await link(from, to).catch(() => symlink(from, to))
      }
      await copyTokenizer(tokenizer.dir, at)
    },
    { replaces: () => true },
  )
  return out
}
