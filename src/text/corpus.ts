import { createReadStream } from 'node:fs'
import { extname } from 'node:path'
import { TokenizerError } from './errors.js'

/** Texts are cut about here, so that a book in one file does not become one string. */
const BLOCK_CHARACTERS = 65_536

/**
 * The texts in a file: of `.txt` and `.md`, blocks of whole lines; of `.jsonl`, every string value of every row, however deep, so
 * that both `{"text": ...}` and `{"messages": [...]}` work. Anything else is an error that names file and line.
 */
export async function* readTexts(file: string): AsyncGenerator<string> {
  const kind = extname(file).toLowerCase()
  if (kind === '.txt' || kind === '.md') yield* blocks(file)
  else if (kind === '.jsonl') yield* rowStrings(file)
  else throw new TokenizerError(`${file}: expected a .txt, .md or .jsonl file`)
}

async function* blocks(file: string): AsyncGenerator<string> {
  let block = ''
  for await (const { text } of lines(file)) {
    // Only cut where a line begins with something visible: runs of blank space are tokens of their own.
    if (block.length >= BLOCK_CHARACTERS && /^\S/.test(text)) {
      yield block
      block = ''
    }
    block += text
  }
  if (block !== '') yield block
}

async function* rowStrings(file: string): AsyncGenerator<string> {
  for await (const { text, number } of lines(file)) {
    if (text.trim() === '') continue
    let row: unknown
    try {
      row = JSON.parse(text)
    } catch (cause) {
      throw new TokenizerError(`${file}:${number}: expected a JSON object, got: ${(cause as Error).message}`, { cause })
    }
    const strings = typeof row === 'object' && row !== null && !Array.isArray(row) ? [...stringsIn(row)] : []
    if (strings.length === 0) {
      throw new TokenizerError(`${file}:${number}: expected a JSON object with at least one string in it`)
    }
    yield* strings
  }
}

function* stringsIn(value: unknown): Generator<string> {
  if (typeof value === 'string') yield value
  else if (typeof value === 'object' && value !== null) for (const item of Object.values(value)) yield* stringsIn(item)
}

/** Lines with their ends, numbered from one. Split as bytes, so that a bad character is found in its own line. */
async function* lines(file: string): AsyncGenerator<{ text: string; number: number }> {
  const decoder = new TextDecoder('utf-8', { fatal: true })
  let number = 0
  let pending: Uint8Array[] = []
  const take = () => {
    number++
    const bytes = Buffer.concat(pending)
    pending = []
    try {
      return { text: decoder.decode(bytes), number }
    } catch (cause) {
      throw new TokenizerError(`${file}:${number}: expected UTF-8 text`, { cause })
    }
  }
  try {
    for await (const chunk of createReadStream(file) as AsyncIterable<Uint8Array>) {
      let from = 0
      for (let end = chunk.indexOf(10); end >= 0; end = chunk.indexOf(10, from)) {
        pending.push(chunk.subarray(from, end + 1))
        from = end + 1
        yield take()
      }
      if (from < chunk.length) pending.push(chunk.subarray(from))
    }
  } catch (cause) {
    if (cause instanceof TokenizerError) throw cause
    throw new TokenizerError(`${file}: cannot be read (${(cause as Error).message})`, { cause })
  }
  if (pending.length > 0) yield take()
}
