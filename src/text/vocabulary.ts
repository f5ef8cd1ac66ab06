/** What a tokenizer consists of, for those who write it in another format. */
import { isObject, type JsonObject } from './json.js'
import { addedTokens, findSpecialTokens } from './special-tokens.js'
import { Tokenizer } from './tokenizer.js'
import { readTokenizerFiles } from './tokenizer-files.js'

interface VocabularyToken {
  readonly text: string
  /** In the model's own vocabulary, or added to it: special, or as text of its own. */
  readonly kind: 'normal' | 'special' | 'added'
}

export interface Vocabulary {
  readonly tokenizer: Tokenizer
  /** By id; ids without a token are missing. */
  readonly tokens: ReadonlyMap<number, VocabularyToken>
  /** Pairs, the first to be merged first. */
  readonly merges: readonly (readonly [string, string])[]
  /** The parts of the effective tokenizer.json. */
  readonly model: JsonObject
  readonly normalizer: unknown
  readonly preTokenizer: unknown
  readonly decoder: unknown
  /** Chat templates by name; the unnamed one is `default`. */
  readonly chatTemplates: ReadonlyMap<string, string>
}

export async function readVocabulary(directory: string): Promise<Vocabulary> {
  const files = await readTokenizerFiles(directory)
  const tokenizer = await Tokenizer.load(directory)
  const { tokenizer: json } = files
  const model = isObject(json.model) ? json.model : {}
  const added = new Map(
    [...addedTokens(files), ...findSpecialTokens(files).toAdd].map(({ content, special }) => [content, special]),
  )
  const ids = new Set<number>(Object.values(isObject(model.vocab) ? model.vocab : {}) as number[])
  for (const content of added.keys()) ids.add(tokenizer.idOf(content) ?? -1)
  const tokens = new Map<number, VocabularyToken>()
  for (const id of [...ids].sort((a, b) => a - b)) {
    const text = tokenizer.tokenOf(id)
    if (text === undefined) continue
    const special = added.get(text)
    tokens.set(id, { text, kind: special === undefined ? 'normal' : special ? 'special' : 'added' })
  }
  return {
    ...{ tokenizer, tokens, model },
    merges: Array.isArray(model.merges) ? model.merges.map(pairOf) : [],
    normalizer: json.normalizer ?? null,
    preTokenizer: json.pre_tokenizer ?? null,
    decoder: json.decoder ?? null,
    chatTemplates: new Map(Array.from(files.chatTemplates, ([name, { source }]) => [name, source])),
  }
}

/** A merge is a pair, or in older files a text with a space between its two. */
function pairOf(merge: unknown): readonly [string, string] {
  if (Array.isArray(merge)) return [String(merge[0]), String(merge[1])]
  const [left = '', right = ''] = String(merge).split(' ')
  return [left, right]
}
