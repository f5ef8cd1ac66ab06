/** Lines of JSON that a reader may meet while they grow, or that a disk may have damaged. */
import { readFile } from 'node:fs/promises'
import { systemProblem } from '../errors/index.js'
import { RunError } from './errors.js'
import type { Json } from './exact-json.js'

export type JsonObject = { readonly [key: string]: Json }

interface JsonLines {
  readonly objects: readonly JsonObject[]
  /** Numbers, from 1, of lines that are no object: each is left out alone. */
  readonly bad: readonly number[]
}

/** The objects of a file, one a line. The last line counts once it is whole; no file is none. */
export async function readJsonLines(path: string): Promise<JsonLines> {
  const lines = (await contentOf(path)).toString().split('\n').slice(0, -1)
  const objects: JsonObject[] = []
  const bad: number[] = []
  for (const [index, line] of lines.entries()) {
    const object = objectOf(line)
    if (object) objects.push(object)
    else bad.push(index + 1)
  }
  return { objects, bad }
}

/** A file's bytes; none where there is no file. */
export async function contentOf(path: string): Promise<Buffer> {
  return readFile(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return Buffer.alloc(0)
    throw new RunError(`${path}: ${systemProblem(error, 'read')}`, { cause: error })
  })
}

/** A line's object; undefined where it is none. */
export function objectOf(line: string): JsonObject | undefined {
  try {
    const value = JSON.parse(line) as unknown
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as JsonObject) : undefined
  } catch {
    return undefined
  }
}
