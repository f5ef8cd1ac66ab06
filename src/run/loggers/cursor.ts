/** What a logger was sent: a small file beside the logs. The logs themselves are what is sent later, so nothing is stored twice. */
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { z } from 'zod'
import { makeDirectory, writeFileAtomic } from '../../files/index.js'
import type { Json } from '../exact-json.js'
import { runPaths } from '../paths.js'

const bytes = z.int().min(0)
const cursorSchema = z.object({
  /** Bytes of each log file that were sent. */
  sent: z.object({ metrics: bytes, samples: bytes, events: bytes }),
  /** Whether `start` was called. */
  started: z.boolean(),
  /** What `start` returned. */
  kept: z.json().optional(),
  /** Whether `end` was called after the last `start`. */
  ended: z.boolean(),
})
export type Cursor = Omit<z.output<typeof cursorSchema>, 'kept'> & { readonly kept?: Json | undefined }

const nothingSent: Cursor = { sent: { metrics: 0, samples: 0, events: 0 }, started: false, ended: false }

const folder = (run: string): string => join(runPaths(run).logs, 'loggers')

/** Where a logger's cursor is. A logger that was never called, or whose file is damaged, begins at the start. */
export async function readCursor(run: string, logger: string): Promise<Cursor> {
  const text = await readFile(join(folder(run), `${logger}.json`), 'utf8').catch(() => undefined)
  if (text === undefined) return nothingSent
  try {
    return cursorSchema.parse(JSON.parse(text))
  } catch {
    return nothingSent
  }
}

export async function writeCursor(run: string, logger: string, cursor: Cursor): Promise<void> {
  await makeDirectory(folder(run))
  await writeFileAtomic(join(folder(run), `${logger}.json`), `${JSON.stringify(cursor)}\n`)
}
