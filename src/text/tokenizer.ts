import { join } from 'node:path'
import { AddedToken, Tokenizer as Library } from 'tokenizers'
import { endOfTurn, maskFromSpans, spansByPrefix } from './assistant-mask.js'
import { type BoundedEncoding, beginnings, slack } from './bounded-encoding.js'
import { ByteLevelTokens, isByteLevel } from './byte-level.js'
import type { ChatMessage } from './chat-messages.js'
import { type ChatOptions, ChatTemplate } from './chat-template.js'
import { ChatTemplateError, TokenizerError } from './errors.js'
import { givenTemplate } from './given-template.js'
import { isObject } from './json.js'
import { type AddedTokenSpec, addedTokens, configIds, findSpecialTokens } from './special-tokens.js'
import { type TokenIds, tokenIds } from './token-ids.js'
import { readTokenizerFiles, type TemplateFile, type TokenizerFiles } from './tokenizer-files.js'

export interface EncodeOptions {
  /** Let the tokenizer add its own tokens, such as a leading bos. On by default, as in transformers. */
  readonly addSpecialTokens?: boolean
}

export interface EncodeUpToOptions extends EncodeOptions {
  readonly maxTokens: number
  readonly signal?: AbortSignal | undefined
}

export interface DecodeOptions {
  /** Leave special tokens out of the text. Off by default, as in transformers. */
  readonly skipSpecialTokens?: boolean
}

export interface LoadTokenizerOptions {
  /**
   * `chatml` or the path of a Jinja file: a chat template in place of the directory's own. `auto`: its own, which has to parse.
   * Default: its own, looked at when it is first used; `none` is the same, for callers that take texts as they are.
   */
  readonly chatTemplate?: string | undefined
}

interface ConversationOptions extends Omit<ChatOptions, 'addGenerationPrompt' | 'continueFinalMessage'> {
  /** Name of the template, for directories with several. */
  readonly template?: string
}

interface TemplateOptions extends ChatOptions {
  /** Name of the template, for directories with several. */
  readonly template?: string
}

interface EncodedConversation {
  readonly ids: TokenIds
  /** One where the assistant wrote the token (its content and the end of its turn), zero elsewhere. */
  readonly assistantMask: Uint8Array
}

interface EncodedAnswer {
  /** Up to where the assistant begins. */
  readonly prompt: TokenIds
  /** What it says, with the end of its turn. */
  readonly answer: TokenIds
  /** What the template writes after that, such as a newline: part of the rendered conversation, but never generated. */
  readonly tail: TokenIds
}

/** How a chat template ends a turn. */
interface TurnEnd {
  /** The special token that ends it. */
  readonly id: number
  /** What follows that token, such as a newline. */
  readonly tail: TokenIds
}

/**
 * A Hugging Face tokenizer directory: text to token ids and back, and conversations to token ids.
 *
 * @example
 * const tokenizer = await Tokenizer.load('models/qwen2')
 * const prompt = await tokenizer.encodeChat([{ role: 'user', content: 'Hi' }], { addGenerationPrompt: true })
 */
export class Tokenizer {
  /** Directory the tokenizer was loaded from. */
  readonly dir: string
  /** Number of tokens, added ones included. A model's embedding may have more rows. */
  readonly vocabSize: number
  /** Special tokens by attribute name, `eos_token` and so on: the variables a chat template sees. */
  readonly specialTokens: ReadonlyMap<string, string>
  /** Ids of every token that is special: flagged so, or named so in a config. */
  readonly specialIds: ReadonlySet<number>
  /** The tokenizer's own beginning of sequence. Model configs are not asked: what is in them is never prepended. */
  readonly bosId: number | undefined
  /** The tokenizer's end of sequence; else the first of `generation_config.json`; else of `config.json`. */
  readonly eosId: number | undefined
  /** The tokenizer's padding; else that of `generation_config.json`; else of `config.json`. */
  readonly padId: number | undefined
  /**
   * Where generation stops, found as `generate` finds it: `generation_config.json`, else `config.json`, else `eosId`; and, with a
   * chat template that was given, where that ends a turn.
   */
  stopIds: readonly number[]
  /** Those of `stopIds` that only a given chat template knows: an engine that reads the model's own files has to be told. */
  turnEndIds: readonly number[] = []
  /** The source of a chat template that was given in place of the directory's own. */
  readonly givenTemplate: string | undefined
  /** What each token stands for, where `decode` puts nothing but that together; other tokenizers have none. */
  readonly byteLevel: ByteLevelTokens | undefined

  readonly #library: Library
  readonly #templateFiles: ReadonlyMap<string, TemplateFile>
  readonly #templates = new Map<string, ChatTemplate>()
  readonly #cleansUpSpaces: boolean
  #longestToken: number | undefined
  #turnEnd: Promise<TurnEnd | undefined> | undefined

  private constructor(files: TokenizerFiles, library: Library, templateFor?: (tokenizer: Tokenizer) => TemplateFile) {
    this.#library = library
    this.#cleansUpSpaces = cleansUpSpaces(files)
    this.dir = files.dir
    const special = findSpecialTokens(files)
    library.addAddedTokens(
      special.toAdd.map(
        token =>
          new AddedToken(token.content, token.special, {
            singleWord: token.singleWord,
            leftStrip: token.lstrip,
            rightStrip: token.rstrip,
            normalized: token.normalized,
          }),
      ),
    )
    checkAddedTokens(files, library, special.toAdd)
    this.vocabSize = library.getVocabSize(true)
    this.specialTokens = special.named
    const flagged = [...addedTokens(files), ...special.toAdd].filter(token => token.special)
    const contents = [...flagged.map(token => token.content), ...special.named.values(), ...special.extra]
    this.specialIds = new Set(contents.flatMap(token => this.idOf(token) ?? []))

    const idFor = (name: string) => this.idOf(special.named.get(name) ?? '')
    const configured = (key: string): number[] => {
      const ids = configIds(files.generationConfig, key)
      return ids.length > 0 ? ids : configIds(files.modelConfig, key)
    }
    this.bosId = idFor('bos_token')
    this.eosId = idFor('eos_token') ?? configured('eos_token_id')[0]
    this.padId = idFor('pad_token') ?? configured('pad_token_id')[0]
    const template = templateFor?.(this)
    this.givenTemplate = template?.source
    this.#templateFiles = template ? new Map([['default', template]]) : files.chatTemplates
    const configuredStops = configured('eos_token_id')
    this.stopIds = configuredStops.length > 0 ? configuredStops : this.eosId === undefined ? [] : [this.eosId]
    if (isByteLevel(files.tokenizer.decoder) && !this.#cleansUpSpaces) {
      // Not `specialIds`: the library skips what is flagged, whatever a config calls special.
      const skipped = new Set(flagged.map(token => token.content))
      this.byteLevel = new ByteLevelTokens(id => this.tokenOf(id), skipped)
    }
  }

  /** Loads a directory with a `tokenizer.json`; every other file in it is optional. */
  static async load(dir: string, { chatTemplate }: LoadTokenizerOptions = {}): Promise<Tokenizer> {
    const files = await readTokenizerFiles(dir)
    const given = await givenTemplate(chatTemplate)
    if (files.tokenizerConfig.split_special_tokens === true) {
      throw new TokenizerError(
        `${join(dir, 'tokenizer_config.json')}: split_special_tokens: true is not supported: it would change every id`,
      )
    }
    let library: Library
    try {
      library = Library.fromString(files.tokenizerText)
    } catch (cause) {
      throw new TokenizerError(`${join(dir, 'tokenizer.json')}: not a tokenizer (${(cause as Error).message})`, {
        cause,
      })
    }
    // Padding and truncation stored in the file are defaults of the program that saved it; ids here are ragged and whole.
    library.disablePadding()
    library.disableTruncation()
    // What the tokenizer puts before a text itself, such as a bos.
    const [firstId] = (await library.encode('', null, libraryOptions({}))).getIds()
    const tokenizer = new Tokenizer(files, library, given && (made => given(made, firstId)))
    if (given) await tokenizer.#stopAtTurnEnd()
    else if (chatTemplate === 'auto')
      for (const name of files.chatTemplates.keys()) tokenizer.#template({ template: name })
    return tokenizer
  }

  /** Encodes text. A lone surrogate, which is not text, becomes U+FFFD. */
  async encode(text: string, options: EncodeOptions = {}): Promise<TokenIds> {
    return this.#ids((await this.#library.encode(text, null, libraryOptions(options))).getIds())
  }

  /** Encodes a prompt: with the tokens the tokenizer adds, unless the text was rendered by a template that has written them. */
  encodePrompt(text: string): Promise<TokenIds> {
    const bos = this.bosId === undefined ? undefined : this.tokenOf(this.bosId)
    return this.encode(text, { addSpecialTokens: bos === undefined || !text.startsWith(bos) })
  }

  /**
   * Encodes text that may be far too long for its use: `too-long` as soon as a beginning of it shows that, so that time and
   * memory are bounded by `maxTokens` and not by the text. The library works outside the event loop; between two looks an
   * aborted signal ends it.
   */
  async encodeUpTo(text: string, { maxTokens, signal, ...options }: EncodeUpToOptions): Promise<BoundedEncoding> {
    const encode = (some: string) => this.#library.encode(some, null, libraryOptions(options))
    for (const length of beginnings(text, { maxTokens, longestToken: this.longestToken })) {
      signal?.throwIfAborted()
      if (length === undefined) return { kind: 'too-long', atLeast: maxTokens + 1 }
      const encoding = await encode(length === text.length ? text : text.slice(0, length))
      const tokens = encoding.getLength()
      if (length === text.length && tokens <= maxTokens) return { kind: 'encoded', ids: this.#ids(encoding.getIds()) }
      if (length === text.length) return { kind: 'too-long', atLeast: tokens }
      if (tokens > slack * maxTokens) return { kind: 'too-long', atLeast: Math.floor(tokens / slack) }
    }
    throw new Error('a text has a last beginning')
  }

  /** Characters of the longest token, as the vocabulary writes it. */
  get longestToken(): number {
    if (this.#longestToken === undefined) {
      this.#longestToken = 1
      for (const token of Object.keys(this.#library.getVocab(true)))
        this.#longestToken = Math.max(this.#longestToken, token.length)
    }
    return this.#longestToken
  }

  /** Encodes many texts at once, in parallel outside the event loop. */
  async encodeBatch(texts: readonly string[], options: EncodeOptions = {}): Promise<TokenIds[]> {
    const encodings = await this.#library.encodeBatch([...texts], libraryOptions(options))
    return encodings.map(encoding => this.#ids(encoding.getIds()))
  }

  /**
   * The text of token ids, as transformers decodes them. Ids the tokenizer has no token for (rows a model's embedding
   * has been padded with) give no text. For display and for rewards: decoded text is never encoded again.
   */
  async decode(ids: ArrayLike<number>, options: DecodeOptions = {}): Promise<string> {
    const list = Array.from(ids)
    const bad = list.findIndex(id => !Number.isInteger(id) || id < 0)
    if (bad >= 0)
      throw new RangeError(`token id at position ${bad}: expected an integer >= 0, got ${String(list[bad])}`)
    const text = await this.#library.decode(list, options.skipSpecialTokens ?? false)
    return this.#cleansUpSpaces ? cleanUpSpaces(text) : text
  }

  /** The id of a token written as the vocabulary writes it, or undefined. */
  idOf(token: string): number | undefined {
    return this.#library.tokenToId(token) ?? undefined
  }

  /** The token of an id as the vocabulary writes it (byte-level tokens in their own alphabet), or undefined. */
  tokenOf(id: number): string | undefined {
    return Number.isInteger(id) && id >= 0 ? (this.#library.idToToken(id) ?? undefined) : undefined
  }

  /** Whether there is a template to render conversations with. */
  get hasChatTemplate(): boolean {
    return this.#templateFiles.size > 0
  }

  /** The source of the chat template; undefined where there is none. With tools, that of the template for tools. */
  templateSource({ tools }: Pick<ChatOptions, 'tools'> = {}): string | undefined {
    const files = this.#templateFiles
    return ((tools && files.get('tool_use')) ?? files.get('default'))?.source
  }

  /** The text of a conversation as the chat template renders it. */
  renderChat(messages: readonly ChatMessage[], options: TemplateOptions = {}): string {
    return this.#template(options).render(messages, options)
  }

  /** The ids of a conversation: templates write special tokens themselves, so none are added. */
  encodeChat(messages: readonly ChatMessage[], options: TemplateOptions = {}): Promise<TokenIds> {
    return this.encode(this.renderChat(messages, options), { addSpecialTokens: false })
  }

  /**
   * The ids of a whole conversation and which of them the assistant wrote, for training. What the assistant wrote is
   * what the template's `{% generation %}` blocks say, or else what comparing renderings shows (see `spansByPrefix`);
   * the text is encoded once, whole, so the ids are those any other reader of the template gets.
   *
   * @example
   * const { ids, assistantMask } = await tokenizer.encodeConversation(row.messages)
   */
  async encodeConversation(
    messages: readonly ChatMessage[],
    options: ConversationOptions = {},
  ): Promise<EncodedConversation> {
    const template = this.#template(options)
    const { text, spans } = template.marksGeneration
      ? template.renderMarked(messages, options)
      : spansByPrefix(
          messages,
          (some, { addGenerationPrompt }) => template.render(some, { ...options, addGenerationPrompt }),
          this.#specialTexts,
        )
    const encoding = await this.#library.encode(text, null, { addSpecialTokens: false })
    return { ids: this.#ids(encoding.getIds()), assistantMask: maskFromSpans(text, encoding.getOffsets(), spans) }
  }

  /**
   * A conversation and the messages that answer it, each encoded by itself: these are the ids that generation would have been
   * given, and could have given. Answers to one prompt thus begin with the same ids.
   */
  async encodeAnswer(
    prompt: readonly ChatMessage[],
    answer: readonly ChatMessage[],
    options: ConversationOptions = {},
  ): Promise<EncodedAnswer> {
    const before = this.renderChat(prompt, { ...options, addGenerationPrompt: true })
    const whole = this.renderChat([...prompt, ...answer], options)
    if (!whole.startsWith(before))
      throw new ChatTemplateError(
        `messages[${prompt.length}]: the generation prompt of the chat template differs from the start of this message, so prompt and answer cannot be separated`,
        { messageIndex: prompt.length },
      )
    const rest = whole.slice(before.length)
    const end = endOfTurn(rest, this.#specialTexts)
    const [promptIds, answerIds, tail] = await this.encodeBatch([before, rest.slice(0, end), rest.slice(end)], {
      addSpecialTokens: false,
    })
    return { prompt: promptIds!, answer: answerIds!, tail: tail! }
  }

  /** How the chat template ends an assistant's turn; undefined where there is no template, or no token that ends a turn. */
  turnEnd(): Promise<TurnEnd | undefined> {
    this.#turnEnd ??= this.#findTurnEnd()
    return this.#turnEnd
  }

  /** A turn of a template that was given ends a response. The template has to parse. */
  async #stopAtTurnEnd(): Promise<void> {
    this.#template({})
    const { id } = (await this.turnEnd()) ?? {}
    if (id === undefined || this.stopIds.includes(id)) return
    this.turnEndIds = [id]
    this.stopIds = [...this.stopIds, id]
  }

  async #findTurnEnd(): Promise<TurnEnd | undefined> {
    if (!this.hasChatTemplate) return undefined
    const say = (role: string) => [{ role, content: 'Hello' }]
    try {
      const { answer, tail } = await this.encodeAnswer(say('user'), say('assistant'))
      const id = answer.at(-1)
      return id !== undefined && this.specialIds.has(id) ? { id, tail } : undefined
    } catch (error) {
      if (error instanceof ChatTemplateError) return undefined
      throw error
    }
  }

  /**
   * The ids of a conversation, and which of them the text of one message became: undefined where the template does not write it as it
   * is.
   */
  async encodeLocated(
    messages: readonly ChatMessage[],
    index: number,
    options: TemplateOptions = {},
  ): Promise<{ ids: TokenIds; from: number; to: number } | undefined> {
    const { text, span } = this.#template(options).renderLocated(messages, index, options)
    if (!span) return undefined
    const encoding = await this.#library.encode(text, null, { addSpecialTokens: false })
    const mask = maskFromSpans(text, encoding.getOffsets(), [span])
    const from = mask.indexOf(1)
    return from < 0 ? undefined : { ids: this.#ids(encoding.getIds()), from, to: mask.lastIndexOf(1) + 1 }
  }

  get #specialTexts(): string[] {
    return [...this.specialIds].flatMap(id => this.tokenOf(id) ?? [])
  }

  /** A named template, or the one for tools when tools are given and there is one, or the default. */
  #template({ template: name, tools }: TemplateOptions): ChatTemplate {
    const chatTemplates = this.#templateFiles
    const chosen = name ?? (tools && chatTemplates.has('tool_use') ? 'tool_use' : 'default')
    const file = chatTemplates.get(chosen)
    if (file === undefined) {
      throw new ChatTemplateError(
        chatTemplates.size === 0
          ? `${this.dir}: no chat template: expected chat_template.jinja, or chat_template in tokenizer_config.json`
          : `${this.dir}: no chat template named "${chosen}"; there are: ${[...chatTemplates.keys()].join(', ')}`,
      )
    }
    const compiled =
      this.#templates.get(chosen) ?? new ChatTemplate(file.source, this.specialTokens, { name: file.path })
    this.#templates.set(chosen, compiled)
    return compiled
  }

  #ids(ids: number[]): TokenIds {
    // A vocabulary with holes has ids beyond its size, so the size is no bound for what the library itself returns.
    return tokenIds(ids, { vocabSize: 2 ** 31 })
  }
}

/** A token that the normaliser leaves nothing of would be found between any two bytes, and the library cannot survive that. */
function checkAddedTokens(files: TokenizerFiles, library: Library, more: readonly AddedTokenSpec[]): void {
  const normalizer = library.getNormalizer()
  if (!normalizer) return
  for (const { content, normalized } of [...addedTokens(files), ...more])
    if (normalized && content !== '' && normalizer.normalizeString(content) === '')
      throw new TokenizerError(
        `${join(files.dir, 'tokenizer.json')}: normalizer: leaves nothing of the token ${JSON.stringify(content)}`,
      )
}

function libraryOptions({ addSpecialTokens = true }: EncodeOptions): { addSpecialTokens: boolean } {
  return { addSpecialTokens }
}

function cleanUpSpaces(text: string): string {
  const pairs = [' .', ' ?', ' !', ' ,', " ' ", " n't", " 'm", " 's", " 've", " 're"]
  return pairs.reduce((cleaned, spaced) => cleaned.replaceAll(spaced, spaced.trim()), text)
}

/** Transformers 5 ignores the setting for BPE, whose own spaces it would take away. */
function cleansUpSpaces({ tokenizerConfig: config, tokenizer: { model } }: TokenizerFiles): boolean {
  if (config.clean_up_tokenization_spaces !== true) return false
  const isBpe = isObject(model) && (model.type === 'BPE' || (model.type === undefined && 'merges' in model))
  return !isBpe || config.clean_up_tokenization_spaces_for_bpe_even_though_it_will_corrupt_output === true
}
