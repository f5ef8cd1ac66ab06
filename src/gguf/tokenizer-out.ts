/** The tokenizer of a Hugging Face directory as metadata of a GGUF file, as llama.cpp's converter writes it. */
import type { Vocabulary } from '../text/index.js'
import { GgufError } from './errors.js'
import { preTokenizerOf } from './pre-tokenizers.js'
import { scoresOf } from './sentence-piece.js'
import { paddingToken, tokenTypes } from './token-types.js'
import type { TypedValue } from './write-file.js'

type Json = Readonly<Record<string, unknown>>

const isObject = (value: unknown): value is Json => typeof value === 'object' && value !== null && !Array.isArray(value)

interface TokenizerMetadata {
  readonly entries: readonly (readonly [string, TypedValue])[]
  /** What llama.cpp does otherwise, for people. */
  readonly notes: readonly string[]
  /** A bos is put before each text. */
  readonly addsBos: boolean
}

/** `rows`: of the embedding; `directory` is named in errors. */
export async function tokenizerMetadata(
  vocabulary: Vocabulary,
  { rows, directory }: { rows: number; directory: string },
): Promise<TokenizerMetadata> {
  const fail = (problem: string): never => {
    throw new GgufError(`${directory}: ${problem}`)
  }
  const { model, tokens } = vocabulary
  if (model.type !== 'BPE') fail(`the tokenizer is a ${String(model.type)}; a GGUF file can have a BPE tokenizer`)
  const highest = [...tokens.keys()].at(-1) ?? -1
  if (highest >= rows) fail(`the tokenizer has the token id ${highest}, and the embedding ${rows} rows`)
  const { texts, kinds } = tokenList(vocabulary, rows, fail)
  const { entries, notes } =
    model.byte_fallback === true
      ? sentencePiece(vocabulary, { texts, kinds, fail })
      : byteLevel(vocabulary, { texts, kinds, fail })
  const ends = await textEnds(vocabulary)
  return {
    entries: [...entries, ...(await specialEntries(vocabulary, ends)), ...templates(vocabulary)],
    notes,
    addsBos: ends.bos,
  }
}

interface Lists {
  readonly texts: string[]
  readonly kinds: number[]
  readonly fail: (problem: string) => never
}

function tokenList({ tokens }: Vocabulary, rows: number, fail: Lists['fail']): Omit<Lists, 'fail'> {
  const texts: string[] = []
  const kinds: number[] = []
  const seen = new Map<string, number>()
  for (let id = 0; id < rows; id++) {
    const token = tokens.get(id)
    const text = token?.text ?? paddingToken(id)
    const other = seen.get(text)
    if (other !== undefined) fail(`the tokens ${other} and ${id} are both ${JSON.stringify(text)}`)
    seen.set(text, id)
    texts.push(text)
    kinds.push(
      token
        ? { normal: tokenTypes.normal, special: tokenTypes.control, added: tokenTypes.userDefined }[token.kind]
        : tokenTypes.unused,
    )
  }
  return { texts, kinds }
}

function byteLevel(
  { model, merges, normalizer, preTokenizer }: Vocabulary,
  { texts, kinds, fail }: Lists,
): Pick<TokenizerMetadata, 'entries' | 'notes'> {
  for (const field of ['continuing_subword_prefix', 'end_of_word_suffix'])
    if (model[field]) fail(`the tokenizer has a ${field}, which a GGUF file cannot have`)
  const normalizers = normalizerTypes(normalizer)
  if (normalizers.some(type => type !== 'NFC'))
    fail(`the tokenizer normalises texts (${normalizers.join(', ')}), and llama.cpp does not`)
  const found = preTokenizerOf(preTokenizer, {
    ignoreMerges: model.ignore_merges === true,
    normalizer: normalizers.length > 0 ? 'NFC' : undefined,
  })
  if (!found)
    return fail(
      'the pre_tokenizer of tokenizer.json is none of those that llama.cpp has a name for (tokenizer.ggml.pre), so it would split texts otherwise',
    )
  const spaced = merges.find(pair => pair.some(part => part.includes(' ')))
  if (spaced) fail(`the merge ${JSON.stringify(spaced)} has a space in it, which a GGUF file cannot have`)
  return {
    entries: [
      ['tokenizer.ggml.model', { text: 'gpt2' }],
      ['tokenizer.ggml.pre', { text: found.names[0] }],
      ['tokenizer.ggml.tokens', { texts }],
      ['tokenizer.ggml.token_type', { i32s: kinds }],
      ['tokenizer.ggml.merges', { texts: merges.map(pair => pair.join(' ')) }],
    ],
    notes: [],
  }
}

function normalizerTypes(normalizer: unknown): string[] {
  if (!isObject(normalizer)) return []
  if (normalizer.type === 'Sequence' && Array.isArray(normalizer.normalizers))
    return normalizer.normalizers.flatMap(normalizerTypes)
  return [String(normalizer.type)]
}

function sentencePiece(
  { merges, tokens, model, normalizer, preTokenizer }: Vocabulary,
  { texts, kinds, fail }: Lists,
): Pick<TokenizerMetadata, 'entries' | 'notes'> {
  const normal = new Set(
    [...tokens.values()].filter(({ text, kind }) => kind === 'normal' && !isByte(text)).map(({ text }) => text),
  )
  const scores = scoresOf(normal, merges)
  if (!scores)
    return fail(
      'the merges of tokenizer.json are not those of a SentencePiece vocabulary, and llama.cpp would split texts otherwise',
    )
  const scheme = spaceScheme(normalizer, preTokenizer)
  if (scheme === undefined)
    return fail('the tokenizer handles spaces otherwise than SentencePiece, and llama.cpp would split texts otherwise')
  for (const [id, text] of texts.entries()) {
    if (isByte(text)) kinds[id] = tokenTypes.byte
    else if (text === model.unk_token || (text === '<unk>' && kinds[id] === tokenTypes.control))
      kinds[id] = tokenTypes.unknown
  }
  return {
    entries: [
      ['tokenizer.ggml.model', { text: 'llama' }],
      ['tokenizer.ggml.pre', { text: 'default' }],
      ['tokenizer.ggml.tokens', { texts }],
      ['tokenizer.ggml.scores', { f32s: texts.map((text, id) => scoreOf(text, kinds[id]!, scores)) }],
      ['tokenizer.ggml.token_type', { i32s: kinds }],
      ['tokenizer.ggml.add_space_prefix', { bool: scheme !== 'never' }],
    ],
    notes:
      scheme === 'first'
        ? [
            'llama.cpp also puts a space before texts that follow a special token; this tokenizer puts one before the first text alone',
          ]
        : [],
  }
}

const isByte = (text: string): boolean => /^<0x[0-9A-F]{2}>$/.test(text)

/** Pieces that no merge forms are single characters, whose scores nothing reads. */
function scoreOf(text: string, kind: number, scores: ReadonlyMap<string, number>): number {
  return kind === tokenTypes.normal ? (scores.get(text) ?? -scores.size - 1) : 0
}

/** Where a space is put before texts: before each between special tokens, before the first, or never. */
function spaceScheme(normalizer: unknown, preTokenizer: unknown): 'always' | 'first' | 'never' | undefined {
  if (isObject(preTokenizer) && preTokenizer.type === 'Metaspace' && normalizerTypes(normalizer).length === 0) {
    const scheme = preTokenizer.prepend_scheme ?? (preTokenizer.add_prefix_space === false ? 'never' : 'always')
    if (preTokenizer.split === true) return undefined
    return scheme === 'always' || scheme === 'first' || scheme === 'never' ? scheme : undefined
  }
  if (preTokenizer !== null) return undefined
  const types = normalizerTypes(normalizer).join()
  return types === 'Prepend,Replace' ? 'always' : types === 'Replace' ? 'never' : undefined
}

/** What the tokenizer puts before and behind a text. */
async function textEnds({ tokenizer }: Vocabulary): Promise<{ bos: boolean; eos: boolean }> {
  const [plain, whole] = [await tokenizer.encode('a', { addSpecialTokens: false }), await tokenizer.encode('a')]
  return {
    bos: whole.length > plain.length && whole[0] !== plain[0],
    eos: whole.length > plain.length && whole.at(-1) !== plain.at(-1),
  }
}

async function specialEntries(
  { tokenizer }: Vocabulary,
  { bos, eos }: { bos: boolean; eos: boolean },
): Promise<(readonly [string, TypedValue])[]> {
  const unknown = tokenizer.idOf(tokenizer.specialTokens.get('unk_token') ?? '')
  const turnEnd = tokenizer.hasChatTemplate ? (await tokenizer.turnEnd().catch(() => undefined))?.id : undefined
  // Where a turn ends otherwise than a text, or generation stops at further tokens.
  const eot = [turnEnd, ...tokenizer.stopIds].find(id => id !== undefined && id !== tokenizer.eosId)
  const ids = { bos: tokenizer.bosId, eos: tokenizer.eosId, eot, unknown, padding: tokenizer.padId }
  return [
    ...Object.entries(ids).flatMap(([name, id]) =>
      id === undefined ? [] : [[`tokenizer.ggml.${name}_token_id`, { u32: id }] as const],
    ),
    ['tokenizer.ggml.add_bos_token', { bool: bos }],
    ...(eos ? [['tokenizer.ggml.add_eos_token', { bool: true }] as const] : []),
  ]
}

function templates({ chatTemplates }: Vocabulary): (readonly [string, TypedValue])[] {
  const named = [...chatTemplates.keys()].filter(name => name !== 'default')
  return [
    ...[...chatTemplates].map(
      ([name, source]) => [`tokenizer.chat_template${name === 'default' ? '' : `.${name}`}`, { text: source }] as const,
    ),
    ...(named.length > 0 ? [['tokenizer.chat_templates', { texts: named }] as const] : []),
  ]
}
