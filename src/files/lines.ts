import { createReadStream } from 'node:fs'
import { InputError, systemProblem } from '../errors/index.js'

interface NumberedLine {
  text: string
  /** In the file, from 1. */
  line: number
}

export interface LineOptions {
  signal?: AbortSignal
  /** Whether a line's text has its end: `\n` or `\r\n`. Dropped unless asked for. */
  ends?: 'drop' | 'keep'
}

/**
 * The lines of a UTF-8 file, one at a time. A byte-order mark at the start of the file is dropped. Lines are found as bytes,
 * so that a character that is not UTF-8 is reported with the number of its own line. What is wrong with the file is an
 * {@link InputError} that names it.
 */
export async function* numberedLines(file: string, options: LineOptions = {}): AsyncGenerator<NumberedLine> {
  // Byte-order marks are characters like any other to this decoder: only the first one of a file is dropped, below.
  const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true })
  let line = 0
  const decode = (bytes: Uint8Array): NumberedLine => {
    line++
    let text: string
    try {
      text = decoder.decode(bytes)
    } catch (cause) {
      throw new InputError(`${file}:${line}: expected UTF-8 text`, { cause })
    }
    if (line === 1 && text.startsWith('\uFEFF')) text = text.slice(1)
    return { text: options.ends === 'keep' ? text : text.replace(/\r?\n$/, ''), line }
  }
  for await (const bytes of byteLines(file)) {
    options.signal?.throwIfAborted()
    yield decode(bytes)
  }
}

/** Lines as bytes, with their ends. */
async function* byteLines(file: string): AsyncGenerator<Uint8Array> {
  let pending: Uint8Array[] = []
  try {
    for await (const chunk of createReadStream(file) as AsyncIterable<Uint8Array>) {
      let from = 0
      for (let end = chunk.indexOf(10); end >= 0; end = chunk.indexOf(10, from)) {
        pending.push(chunk.subarray(from, end + 1))
        from = end + 1
        yield Buffer.concat(pending)
        pending = []
      }
      if (from < chunk.length) pending.push(chunk.subarray(from))
    }
  } catch (cause) {
    throw new InputError(whyUnreadable(file, cause as NodeJS.ErrnoException), { cause })
  }
  if (pending.length > 0) yield Buffer.concat(pending)
}

function whyUnreadable(file: string, cause: NodeJS.ErrnoException): string {
  if (cause.code === 'ENOENT') return `${file}: there is no such file`
  return cause.code === 'EISDIR' ? `${file} is a directory` : `${file}: ${systemProblem(cause, 'read')}`
}
