import { open } from 'node:fs/promises'
import { stripVTControlCharacters } from 'node:util'
import { redactor } from '../http/index.js'

const keep = 64 * 1024

/** The last lines of a log; none where it cannot be read. Without colours and redrawn lines. */
export async function lastLines(path: string, count: number): Promise<string[]> {
  const handle = await open(path, 'r').catch(() => undefined)
  if (handle === undefined) return []
  try {
    const { size } = await handle.stat()
    const length = Math.min(size, keep)
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(length), 0, length, size - length)
    return buffer
      .toString('utf8', 0, bytesRead)
      .split('\n')
      .map(line => plain(line.split('\r').findLast(part => part !== '') ?? ''))
      .filter(line => line !== '')
      .slice(-count)
  } finally {
    await handle.close()
  }
}

const plain = (line: string): string =>
  stripVTControlCharacters(line)
    .replace(/\p{Cc}/gu, '')
    .trimEnd()

/** Overwrites a secret in a log, byte by byte: the server still appends to the file. SGLang prints its options, the key included. */
export async function hideInLog(path: string, secret: string | undefined): Promise<void> {
  if (secret === undefined) return
  const handle = await open(path, 'r+').catch(() => undefined)
  if (handle === undefined) return
  try {
    // Latin-1: one character for each byte.
    const hide = redactor([Buffer.from(secret).toString('latin1')], bytes => '*'.repeat(bytes.length))
    const log = await handle.readFile('latin1')
    const hidden = hide(log)
    if (hidden !== log) await handle.write(hidden, 0, 'latin1')
  } finally {
    await handle.close()
  }
}
