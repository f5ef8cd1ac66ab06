import { open } from 'node:fs/promises'
import { stripVTControlCharacters } from 'node:util'

const keep = 64 * 1024

/** The last lines of a log; none where it cannot be read. Colours and lines redrawn in place are left out. */
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
