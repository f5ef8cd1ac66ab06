/**
 * transformers finds the end of a text in a batch as the last token that is not `pad_token_id`, and so asks a reward model one token
 * too early where that token also ends texts (pad = eos). An exported reward model gets a padding that ends no text, in config.json and
 * in the tokenizer's files.
 */
import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { fieldOf } from '../decoder/index.js'

type Json = Readonly<Record<string, unknown>>

interface NamedToken {
  readonly id: number
  /** As the vocabulary writes it; undefined where there is no tokenizer. */
  readonly content: string | undefined
}

/**
 * The padding for a reward model in `directory`, which the tokenizer's files are brought in line with. Null where no token can be
 * taken: transformers then refuses batches instead of scoring them wrongly.
 */
export async function separatePadding(directory: string, config: Json): Promise<number | null> {
  const tokens = await readTokens(directory, config)
  const usable = ({ id }: NamedToken): boolean => id < Number(fieldOf(config, 'vocab_size')) && !tokens.endings.has(id)
  const found = candidates(tokens).find(token => token !== undefined && usable(token))
  if (!found) return null
  const { id, content } = found
  if (content !== undefined && tokens.idOf(tokens.tokenizerConfig.pad_token)?.id !== id)
    await writePadding(directory, { id, content })
  return id
}

interface Tokens {
  readonly config: Json
  readonly tokenizerConfig: Json
  /** Special tokens that tokenizer.json or its config lists, in the order of their ids. */
  readonly special: readonly NamedToken[]
  readonly idOf: (content: unknown) => NamedToken | undefined
  /** Ids that may be the last of a text: ends of sequence, and what the chat template writes. */
  readonly endings: ReadonlySet<number>
  readonly hasTokenizer: boolean
}

async function readTokens(directory: string, config: Json): Promise<Tokens> {
  const [tokenizer, tokenizerConfig, generation] = await Promise.all(
    ['tokenizer.json', 'tokenizer_config.json', 'generation_config.json'].map(name => readJson(join(directory, name))),
  )
  const template = `${await readText(join(directory, 'chat_template.jinja'))}${JSON.stringify(tokenizerConfig?.chat_template ?? '')}`
  const decoder = Object.entries((tokenizerConfig?.added_tokens_decoder ?? {}) as Json)
  const added = [
    ...((tokenizer?.added_tokens ?? []) as Json[]),
    ...decoder.map(([id, token]) => ({ ...(token as Json), id: Number(id) })),
  ] as { id: number; content: string; special?: boolean }[]
  const vocabulary = (tokenizer?.model as Json | undefined)?.vocab
  const byContent = new Map(added.map(({ id, content }) => [content, id]))
  const idOf = (named: unknown): NamedToken | undefined => {
    const content = typeof named === 'string' ? named : (named as { content?: string } | null | undefined)?.content
    if (content === undefined) return undefined
    const id = byContent.get(content) ?? vocabularyId(vocabulary, content)
    return id === undefined ? undefined : { id, content }
  }
  const special = added.filter(token => token.special === true).sort((a, b) => a.id - b.id)
  const stops = [fieldOf(config, 'eos_token_id'), generation?.eos_token_id, idOf(tokenizerConfig?.eos_token)?.id].flat()
  const written = special.filter(({ content }) => template.includes(content)).map(({ id }) => id)
  const endings = new Set([...stops, ...written].filter(id => typeof id === 'number'))
  const bos = idOf(tokenizerConfig?.bos_token)
  // A text does not end as it begins, whatever the template writes.
  if (bos && !stops.includes(bos.id)) endings.delete(bos.id)
  return {
    ...{ config, special, idOf, endings },
    tokenizerConfig: tokenizerConfig ?? {},
    hasTokenizer: tokenizer !== undefined,
  }
}

function candidates({ config, tokenizerConfig, special, idOf, hasTokenizer }: Tokens): (NamedToken | undefined)[] {
  const configured = (id: unknown): NamedToken | undefined => {
    if (typeof id !== 'number') return undefined
    return hasTokenizer ? special.find(token => token.id === id) : { id, content: undefined }
  }
  const named = (pattern: RegExp): NamedToken[] => special.filter(({ content }) => pattern.test(content!))
  return [
    idOf(tokenizerConfig.pad_token),
    configured(fieldOf(config, 'pad_token_id')),
    ...named(/pad/i),
    ...named(/reserved|unused/i),
    idOf(tokenizerConfig.unk_token),
    idOf(tokenizerConfig.bos_token),
    configured(fieldOf(config, 'bos_token_id')),
  ]
}

/** A vocabulary is an object of ids, or a list of pieces with their scores. */
function vocabularyId(vocabulary: unknown, content: string): number | undefined {
  if (Array.isArray(vocabulary)) {
    const at = vocabulary.findIndex(piece => Array.isArray(piece) && piece[0] === content)
    return at < 0 ? undefined : at
  }
  const id = (vocabulary as Record<string, unknown> | undefined)?.[content]
  return typeof id === 'number' ? id : undefined
}

/** Only the one value is changed: numbers of these files have more digits than a double. */
async function writePadding(directory: string, { id, content }: { id: number; content: string }): Promise<void> {
  const token = /"pad_token"(\s*:\s*)("(?:[^"\\]|\\.)*"|null|\{[^{}]*\})/
  const path = join(directory, 'tokenizer_config.json')
  const text = (await readText(path)) || '{}'
  const value = JSON.stringify(content)
  const changed = token.test(text)
    ? text.replace(token, (_, colon: string) => `"pad_token"${colon}${value}`)
    : text.replace('{', () => `{\n  "pad_token": ${value}${/^\s*\{\s*\}/.test(text) ? '\n' : ','}`)
  if (JSON.parse(changed).pad_token !== content) throw new Error(`${path}: pad_token could not be set`)
  await writeFile(path, changed)
  await replaceIn(join(directory, 'special_tokens_map.json'), token, colon => `"pad_token"${colon}${value}`)
  const paddingId = /"pad_token_id"(\s*:\s*)(\d+|null)/
  await replaceIn(join(directory, 'generation_config.json'), paddingId, colon => `"pad_token_id"${colon}${id}`)
}

async function replaceIn(path: string, pattern: RegExp, replacement: (colon: string) => string): Promise<void> {
  const text = await readText(path)
  if (pattern.test(text))
    await writeFile(
      path,
      text.replace(pattern, (_, colon: string) => replacement(colon)),
    )
}

/** Empty where there is no such file. */
async function readText(path: string): Promise<string> {
  return readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return ''
    throw error
  })
}

async function readJson(path: string): Promise<Json | undefined> {
  const text = await readText(path)
  return text === '' ? undefined : (JSON.parse(text) as Json)
}
