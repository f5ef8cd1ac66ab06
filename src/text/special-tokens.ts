import { join } from 'node:path'
import { TokenizerError } from './errors.js'
import { isObject, type JsonObject } from './json.js'
import type { TokenizerFiles } from './tokenizer-files.js'

const STANDARD = ['bos_token', 'eos_token', 'unk_token', 'sep_token', 'pad_token', 'cls_token', 'mask_token'] as const

/** A token that stands outside the model's own vocabulary, with the way it is matched in text. */
export interface AddedTokenSpec {
  readonly content: string
  readonly special: boolean
  readonly singleWord: boolean
  readonly lstrip: boolean
  readonly rstrip: boolean
  readonly normalized: boolean
}

/** What the files of a directory say about special tokens, before ids are looked up. */
interface SpecialTokens {
  /** By attribute, `bos_token` and so on, including a model's own such as `image_token`: a template's variables. */
  readonly named: ReadonlyMap<string, string>
  /** Special tokens without a name. */
  readonly extra: readonly string[]
  /** Tokens the library has to be told about, in the order that gives them the ids transformers gives them. */
  readonly toAdd: readonly AddedTokenSpec[]
}

/**
 * Finds special tokens where transformers 5 finds them, in this order:
 *
 * 1. `tokenizer_config.json`: `bos_token` and similar ones as a string or an AddedToken object; any other `*_token` string;
 *    `extra_special_tokens`, or else its older name `additional_special_tokens`.
 * 2. `special_tokens_map.json` *replaces* these, but only where the config has no `added_tokens_decoder`: the map is
 *    the older format, and a config with a decoder was written after it.
 * 3. `padding.pad_token` of `tokenizer.json`, where no file above has a `pad_token` key.
 *
 * Tokens of `added_tokens_decoder`, and special tokens that `tokenizer.json` does not list as added, are added to the
 * vocabulary. Defaults written into transformers' Python classes are not files and are not known here.
 */
export function findSpecialTokens(files: TokenizerFiles): SpecialTokens {
  const configPath = join(files.dir, 'tokenizer_config.json')
  const mapPath = join(files.dir, 'special_tokens_map.json')
  const { tokenizerConfig: config, specialTokensMap: map } = files
  const hasDecoder = isObject(config.added_tokens_decoder)

  const named = new Map<string, AddedTokenSpec | null>()
  const readNamed = (path: string, source: JsonObject) => {
    for (const [key, value] of Object.entries(source)) {
      const standard = (STANDARD as readonly string[]).includes(key)
      if (!standard && !(key.endsWith('_token') && typeof value === 'string')) continue
      named.set(key, value === null ? null : readToken(path, key, value))
    }
  }
  readNamed(configPath, config)
  if (!hasDecoder) readNamed(mapPath, map)

  const padding = files.tokenizer.padding
  if (!named.has('pad_token') && isObject(padding) && typeof padding.pad_token === 'string') {
    named.set('pad_token', readToken(join(files.dir, 'tokenizer.json'), 'padding.pad_token', padding.pad_token))
  }

  const extra = new Map<string, AddedTokenSpec>()
  const readExtra = (path: string, source: JsonObject) => {
    const key = source.extra_special_tokens != null ? 'extra_special_tokens' : 'additional_special_tokens'
    const value = source[key]
    if (value === undefined || value === null) return
    if (Array.isArray(value)) {
      for (const [i, token] of value.entries()) {
        const spec = readToken(path, `${key}[${i}]`, token)
        if (!extra.has(spec.content)) extra.set(spec.content, spec)
      }
    } else if (isObject(value)) {
      for (const [name, token] of Object.entries(value)) named.set(name, readToken(path, `${key}.${name}`, token))
    } else {
      throw new TokenizerError(`${path}: ${key}: expected a list of tokens or an object of named tokens`)
    }
  }
  readExtra(configPath, config)
  if (!hasDecoder) readExtra(mapPath, map)

  const known = new Set(addedTokens(files).map(token => token.content))
  const toAdd = hasDecoder ? readDecoder(configPath, config.added_tokens_decoder as JsonObject) : []
  for (const token of toAdd) known.add(token.content)
  for (const token of [...named.values(), ...extra.values()]) {
    if (token === null || known.has(token.content)) continue
    known.add(token.content)
    toAdd.push({ ...token, special: true })
  }

  const present = [...named].flatMap(([name, token]): [string, string][] => (token ? [[name, token.content]] : []))
  return { named: new Map(present), extra: [...extra.keys()], toAdd }
}

/** The added tokens `tokenizer.json` itself lists. */
export function addedTokens(files: TokenizerFiles): (AddedTokenSpec & { readonly id: number })[] {
  const path = join(files.dir, 'tokenizer.json')
  const list = files.tokenizer.added_tokens ?? []
  if (!Array.isArray(list)) throw new TokenizerError(`${path}: added_tokens: expected a list`)
  return list.map((token: unknown, i) => {
    const id = isObject(token) ? token.id : undefined
    if (typeof id !== 'number') throw new TokenizerError(`${path}: added_tokens[${i}].id: expected a number`)
    return { ...readToken(path, `added_tokens[${i}]`, token), id }
  })
}

function readDecoder(path: string, decoder: JsonObject): AddedTokenSpec[] {
  return Object.entries(decoder)
    .sort(([a], [b]) => Number(a) - Number(b))
    .map(([id, token]) => readToken(path, `added_tokens_decoder.${id}`, token))
}

function readToken(path: string, key: string, value: unknown): AddedTokenSpec {
  // A bare string stands for a special token; an object says for itself, and an unset flag there means false.
  if (typeof value === 'string') return spec(value, { special: true })
  if (isObject(value) && typeof value.content === 'string') return spec(value.content, value)
  throw new TokenizerError(`${path}: ${key}: expected a token as a string or as {"content": string, ...}`)
}

function spec(content: string, from: JsonObject): AddedTokenSpec {
  const special = from.special === true
  return {
    content,
    special,
    singleWord: from.single_word === true,
    lstrip: from.lstrip === true,
    rstrip: from.rstrip === true,
    normalized: typeof from.normalized === 'boolean' ? from.normalized : !special,
  }
}

/** `key` of a model or generation config as a list of ids: a number, a list, or absent. Multimodal configs nest it. */
export function configIds(config: JsonObject, key: string): number[] {
  const nested = isObject(config.text_config) ? config.text_config[key] : undefined
  const value = config[key] ?? nested
  const list: unknown[] = Array.isArray(value) ? value : [value]
  return list.filter((id): id is number => typeof id === 'number' && Number.isInteger(id) && id >= 0)
}
