/** The tokenizer of a GGUF file as the files of a Hugging Face directory. */
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { bpeModel } from '../text/index.js'
import { GgufError } from './errors.js'
import type { Metadata } from './header.js'
import { type PreTokenizer, preTokenizerJson, preTokenizerNamed, preTokenizerNames } from './pre-tokenizers.js'
import { sentencePieceJson } from './sentence-piece.js'
import { paddingToken, tokenTypes } from './token-types.js'

type Json = Readonly<Record<string, unknown>>

/** Tokens as both kinds of tokenizers have them. */
export interface FileTokens {
  readonly texts: readonly string[]
  readonly types: readonly number[]
  readonly scores: readonly number[]
}

interface ReadTokenizer {
  /** `tokenizer.json`. */
  readonly tokenizer: Json
  readonly tokenizerConfig: Json
  readonly generationConfig: Json
  /** Fields of config.json. */
  readonly roles: Readonly<Partial<Record<'bos_token_id' | 'eos_token_id' | 'pad_token_id', number>>>
  /** Chat templates by name; the unnamed one is `default`. */
  readonly chatTemplates: ReadonlyMap<string, string>
}

/** Reads the tokenizer; `rows` is the height of the embedding. */
export function tokenizerFrom(metadata: Metadata, { path, rows }: { path: string; rows: number }): ReadTokenizer {
  const fail = (problem: string): never => {
    throw new GgufError(`${path}: ${problem}`)
  }
  const kind = metadata.get('tokenizer.ggml.model')
  if (kind !== 'gpt2' && kind !== 'llama')
    return fail(
      `the tokenizer ${JSON.stringify(kind ?? null)} (tokenizer.ggml.model) is not supported; supported are gpt2 (byte-level BPE) and llama (SentencePiece BPE)`,
    )
  const tokens = readTokens(metadata, fail)
  if (tokens.texts.length > rows) fail(`there are ${tokens.texts.length} tokens for ${rows} rows of the embedding`)
  const split = kind === 'gpt2' ? preTokenizerIn(metadata, fail) : undefined
  const id = (name: string): number | undefined => {
    const value = metadata.get(`tokenizer.ggml.${name}_token_id`)
    // Beyond the vocabulary means none, as llama.cpp takes it.
    return typeof value === 'number' && value < tokens.texts.length ? value : undefined
  }
  const text = (found: number | undefined): string | null => (found === undefined ? null : tokens.texts[found]!)
  const [bos, eos, pad, unknown] = [id('bos'), id('eos'), id('padding'), id('unknown')]
  const adds = (which: 'bos' | 'eos', fallback: boolean): boolean => {
    const value = metadata.get(`tokenizer.ggml.add_${which}_token`)
    return typeof value === 'boolean' ? value : fallback
  }
  const before = adds('bos', split?.addsBos ?? true) ? bos : undefined
  const after = adds('eos', false) ? eos : undefined
  const stops = [...new Set([eos, id('eot'), id('eom')].filter(stop => stop !== undefined))]
  const roles = {
    ...(bos !== undefined && { bos_token_id: bos }),
    ...(eos !== undefined && { eos_token_id: eos }),
    ...(pad !== undefined && { pad_token_id: pad }),
  }
  return {
    tokenizer: {
      version: '1.0',
      truncation: null,
      padding: null,
      added_tokens: addedTokens(tokens),
      ...(split
        ? byteLevelJson(metadata, { tokens, split, fail })
        : sentencePieceJson(tokens, { prefix: metadata.get('tokenizer.ggml.add_space_prefix') !== false, unknown })),
      post_processor: postProcessor(tokens, { before, after }),
    },
    tokenizerConfig: {
      tokenizer_class: 'PreTrainedTokenizerFast',
      bos_token: text(bos),
      eos_token: text(eos),
      pad_token: text(pad),
      unk_token: text(unknown),
      clean_up_tokenization_spaces: false,
    },
    generationConfig: { ...roles, ...(stops.length > 1 && { eos_token_id: stops }) },
    roles,
    chatTemplates: templatesIn(metadata),
  }
}

/** Writes the files into a directory. */
export async function writeTokenizer(directory: string, read: ReadTokenizer): Promise<void> {
  const json = (value: Json): string => `${JSON.stringify(value, null, 2)}\n`
  await writeFile(join(directory, 'tokenizer.json'), json(read.tokenizer))
  await writeFile(join(directory, 'tokenizer_config.json'), json(read.tokenizerConfig))
  await writeFile(join(directory, 'generation_config.json'), json(read.generationConfig))
  for (const [name, source] of read.chatTemplates) {
    if (name === 'default') {
      await writeFile(join(directory, 'chat_template.jinja'), source)
      continue
    }
    const folder = join(directory, 'additional_chat_templates')
    await mkdir(folder, { recursive: true })
    await writeFile(join(folder, `${name}.jinja`), source)
  }
}

function readTokens(metadata: Metadata, fail: (problem: string) => never): FileTokens {
  const list = metadata.get('tokenizer.ggml.tokens')
  if (!isTexts(list) || list.length === 0) return fail('tokenizer.ggml.tokens should be a list of texts')
  const numbers = (key: string, fallback: number): readonly number[] => {
    const value = metadata.get(`tokenizer.ggml.${key}`) ?? Array<number>(list.length).fill(fallback)
    if (!Array.isArray(value) || value.length !== list.length || typeof value[0] !== 'number')
      return fail(`tokenizer.ggml.${key} should have a number for each of the ${list.length} tokens`)
    return value as number[]
  }
  const types = numbers('token_type', tokenTypes.normal)
  const scores = numbers('scores', 0)
  // Rows that were added to the embedding have no token.
  let count = list.length
  while (count > 0 && list[count - 1] === paddingToken(count - 1) && types[count - 1] === tokenTypes.unused) count--
  const texts = list.slice(0, count)
  const seen = new Set<string>()
  for (const token of texts) {
    if (seen.has(token)) fail(`the token ${JSON.stringify(token)} is there twice`)
    seen.add(token)
  }
  return { texts, types: types.slice(0, count), scores: scores.slice(0, count) }
}

const isTexts = (value: unknown): value is readonly string[] =>
  Array.isArray(value) && (value.length === 0 || typeof value[0] === 'string')

function preTokenizerIn(metadata: Metadata, fail: (problem: string) => never): PreTokenizer {
  const name = metadata.get('tokenizer.ggml.pre')
  if (name === undefined)
    return fail(
      'tokenizer.ggml.pre is missing, so how texts are split is unknown; convert the model again with a current llama.cpp',
    )
  const found = preTokenizerNamed(String(name))
  return (
    found ??
    fail(
      `the pre-tokenizer ${JSON.stringify(name)} (tokenizer.ggml.pre) is not known; known are ${preTokenizerNames.join(', ')}`,
    )
  )
}

function addedTokens({ texts, types }: FileTokens): Json[] {
  const added: readonly number[] = [tokenTypes.control, tokenTypes.userDefined, tokenTypes.unknown]
  return texts.flatMap((content, id) => {
    if (!added.includes(types[id]!)) return []
    const special = types[id] !== tokenTypes.userDefined
    return [{ id, content, single_word: false, lstrip: false, rstrip: false, normalized: false, special }]
  })
}

function byteLevelJson(
  metadata: Metadata,
  { tokens, split, fail }: { tokens: FileTokens; split: PreTokenizer; fail: (problem: string) => never },
): Json {
  const merges = metadata.get('tokenizer.ggml.merges') ?? []
  if (!isTexts(merges)) return fail('tokenizer.ggml.merges should be a list of texts')
  const byteLevel = { type: 'ByteLevel', add_prefix_space: false, trim_offsets: true, use_regex: false }
  return {
    normalizer: split.normalizer === undefined ? null : { type: split.normalizer },
    pre_tokenizer: preTokenizerJson(split),
    decoder: byteLevel,
    model: bpeModel({
      ignoreMerges: split.ignoreMerges,
      vocab: Object.fromEntries(tokens.texts.map((token, id) => [token, id])),
      merges: merges.map(merge => {
        const at = merge.indexOf(' ', 1)
        return at < 0
          ? fail(`the merge ${JSON.stringify(merge)} has no space in it`)
          : [merge.slice(0, at), merge.slice(at + 1)]
      }),
    }),
  }
}

function postProcessor(
  { texts }: FileTokens,
  { before, after }: { before: number | undefined; after: number | undefined },
): Json {
  const special = [before, after].filter(id => id !== undefined)
  const one = (id: number | undefined, type: number): Json[] =>
    id === undefined ? [] : [{ SpecialToken: { id: texts[id], type_id: type } }]
  const sequence = (name: 'A' | 'B', type: number): Json[] => [
    ...one(before, type),
    { Sequence: { id: name, type_id: type } },
    ...one(after, type),
  ]
  return {
    type: 'TemplateProcessing',
    single: sequence('A', 0),
    pair: [...sequence('A', 0), ...sequence('B', 1)],
    special_tokens: Object.fromEntries(
      special.map(id => [texts[id]!, { id: texts[id], ids: [id], tokens: [texts[id]] }]),
    ),
  }
}

/** `tokenizer.chat_template`, and `tokenizer.chat_template.NAME` for each further one. A name becomes that of a file. */
function templatesIn(metadata: Metadata): Map<string, string> {
  const templates = new Map<string, string>()
  for (const [key, source] of metadata) {
    const [, name = 'default'] = /^tokenizer\.chat_template(?:\.([\w-]+))?$/.exec(key) ?? [undefined, '']
    if (name !== '' && typeof source === 'string') templates.set(name, source)
  }
  return templates
}
