import { readdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { writeDirectoryAtomic } from '../files/index.js'
import { learnBpe } from './bpe.js'
import { BYTE_CHARACTERS, toByteCharacters } from './byte-level.js'
import { CHAT_TOKENS, CHATML_TEMPLATE, SPLIT_REGEX, TOKENIZER_CONFIG, tokenizerJson } from './chatml.js'
import { readTexts } from './corpus.js'
import { TokenizerError } from './errors.js'

export interface TrainTokenizerOptions {
  /** `.txt` or `.jsonl` files to learn from. */
  readonly files: readonly string[]
  /** Tokens to end with: chat tokens, 256 bytes, and as many merges as fit. */
  readonly vocabSize: number
  /** A pair of symbols seen fewer times than this stays two tokens. 2 by default. */
  readonly minFrequency?: number
  /** Directory to make. It must not exist, or be empty. */
  readonly out: string
  readonly onProgress?: (progress: TrainProgress) => void
  readonly signal?: AbortSignal
}

export type TrainProgress =
  | { readonly stage: 'reading'; readonly file: string; readonly characters: number }
  | { readonly stage: 'merging'; readonly vocabSize: number; readonly of: number }

interface TrainedTokenizer {
  readonly dir: string
  /** Smaller than asked for when the text ran out of pairs to merge. */
  readonly vocabSize: number
  /** Characters of text learned from. */
  readonly characters: number
}

/** The smallest possible vocabulary: chat tokens and one token for every byte. */
export const MIN_VOCAB_SIZE = CHAT_TOKENS.length + 256

/** How long training may hold the event loop before others get their turn. */
const SLICE_MS = 12

/**
 * Makes a small byte-level BPE tokenizer with chat tokens (`<|endoftext|>` to pad, `<|im_end|>` to end a turn) and a
 * ChatML template, in files that transformers loads too. The same text gives the same files, byte for byte.
 *
 * @example
 * await trainTokenizer({ files: ['corpus.txt'], vocabSize: 4096, out: 'models/tokenizer' })
 */
export async function trainTokenizer(options: TrainTokenizerOptions): Promise<TrainedTokenizer> {
  const { files, vocabSize, minFrequency = 2 } = options
  if (files.length === 0) throw new TokenizerError('no files to learn from')
  if (!Number.isInteger(vocabSize) || vocabSize < MIN_VOCAB_SIZE) {
    throw new TokenizerError(`vocabSize: expected an integer of at least ${MIN_VOCAB_SIZE}, got ${vocabSize}`)
  }
  if (!Number.isInteger(minFrequency) || minFrequency < 1) {
    throw new TokenizerError(`minFrequency: expected an integer of at least 1, got ${minFrequency}`)
  }
  // Refused before the work, not after it.
  await refuseToOverwrite(options.out)
  const { words, characters } = await countWords(options)
  const alphabet = [...BYTE_CHARACTERS].sort()
  const learning = learnBpe(words, alphabet, { vocabSize: vocabSize - CHAT_TOKENS.length, minFrequency })
  const { tokens, merges } = await runInSlices(learning, options.signal, size =>
    options.onProgress?.({ stage: 'merging', vocabSize: size + CHAT_TOKENS.length, of: vocabSize }),
  )
  options.signal?.throwIfAborted()
  await writeDirectoryAtomic(options.out, async at => {
    await writeFile(join(at, 'tokenizer.json'), `${JSON.stringify(tokenizerJson(tokens, merges), null, 1)}\n`)
    await writeFile(join(at, 'tokenizer_config.json'), `${JSON.stringify(TOKENIZER_CONFIG, null, 2)}\n`)
    await writeFile(join(at, 'chat_template.jinja'), CHATML_TEMPLATE)
  })
  return { dir: options.out, vocabSize: tokens.length + CHAT_TOKENS.length, characters }
}

async function countWords(options: TrainTokenizerOptions): Promise<{ words: Map<string, number>; characters: number }> {
  const words = new Map<string, number>()
  let characters = 0
  let sliceEnd = performance.now() + SLICE_MS
  for (const file of options.files) {
    for await (const text of readTexts(file)) {
      options.signal?.throwIfAborted()
      characters += text.length
      // Chat tokens in the text are tokens already: what is left between them is learned from.
      for (const piece of text.split(/<\|endoftext\|>|<\|im_start\|>|<\|im_end\|>/)) {
        for (const [word] of piece.matchAll(SPLIT_REGEX)) words.set(word, (words.get(word) ?? 0) + 1)
      }
      if (performance.now() > sliceEnd) {
        options.onProgress?.({ stage: 'reading', file, characters })
        await nextTurn()
        sliceEnd = performance.now() + SLICE_MS
      }
    }
  }
  if (words.size === 0) throw new TokenizerError(`no text in ${options.files.join(', ')}`)
  return { words: new Map(Array.from(words, ([word, count]) => [toByteCharacters(word), count])), characters }
}

async function runInSlices<Step, Result>(
  work: Generator<Step, Result>,
  signal: AbortSignal | undefined,
  onSlice: (step: Step) => void,
): Promise<Result> {
  let sliceEnd = performance.now() + SLICE_MS
  for (let step = work.next(); ; step = work.next()) {
    if (step.done) return step.value
    if (performance.now() < sliceEnd) continue
    signal?.throwIfAborted()
    onSlice(step.value)
    await nextTurn()
    sliceEnd = performance.now() + SLICE_MS
  }
}

async function refuseToOverwrite(out: string): Promise<void> {
  try {
    if ((await readdir(out)).length === 0) return
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ENOENT') return
    throw new TokenizerError(`${out}: expected an empty directory or a new path`, { cause })
  }
  throw new TokenizerError(`${out}: not empty. Give another directory or remove this one.`)
}
