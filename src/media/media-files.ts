/**
 * Files of images and videos that a run has read, by their content. A file that changes while a run goes on, or before it is resumed,
 * would change what the run means; it is refused by its name.
 */
import { existsSync } from 'node:fs'
import { appendFile, readFile } from 'node:fs/promises'
import { dirname } from 'node:path'
import { InputError } from '../errors/index.js'
import { fileSha256, makeDirectory } from '../files/index.js'

/** An image or a video that is not what the run has read before. */
class ChangedMediaError extends InputError {
  override name = 'ChangedMediaError'
}

export class MediaFiles {
  /** SHA-256 by path or URL. */
  readonly #known = new Map<string, string>()
  #file: string | undefined
  #writing: Promise<void> = Promise.resolve()

  /** Notes a file that was read. */
  async read(name: string, sha256: string): Promise<void> {
    const before = this.#known.get(name)
    if (before === sha256) return
    if (before !== undefined) throw changed([name])
    this.#known.set(name, sha256)
    await this.#write([[name, sha256]])
  }

  /** Keeps what is noted in a file of the run, and takes what is there already. Files that have changed since are an error. */
  async keepIn(file: string, { signal }: { readonly signal?: AbortSignal } = {}): Promise<void> {
    const earlier = await linesOf(file)
    const wrong: string[] = []
    for (const [name, sha256] of earlier) {
      signal?.throwIfAborted()
      const now = this.#known.get(name) ?? (await contentOf(name))
      if (now !== undefined && now !== sha256) wrong.push(name)
    }
    if (wrong.length > 0) throw changed(wrong)
    const added = [...this.#known].filter(([name]) => !earlier.has(name))
    for (const [name, sha256] of earlier) this.#known.set(name, sha256)
    await makeDirectory(dirname(file))
    this.#file = file
    await this.#write(added)
  }

  #write(entries: readonly (readonly [string, string])[]): Promise<void> {
    const file = this.#file
    if (file === undefined || entries.length === 0) return this.#writing
    const text = entries.map(([name, sha256]) => `${JSON.stringify({ name, sha256 })}\n`).join('')
    this.#writing = this.#writing.then(() => appendFile(file, text))
    return this.#writing
  }
}

/** Servers are not asked before their file is needed again. */
async function contentOf(name: string): Promise<string | undefined> {
  if (/^https?:/.test(name)) return undefined
  return existsSync(name) ? fileSha256(name) : 'gone'
}

async function linesOf(file: string): Promise<Map<string, string>> {
  const found = new Map<string, string>()
  const text = await readFile(file, 'utf8').catch(() => '')
  const lines = text.split('\n')
  // A crash may have cut the last line.
  lines.pop()
  for (const line of lines) {
    const { name, sha256 } = JSON.parse(line) as { name: string; sha256: string }
    found.set(name, sha256)
  }
  return found
}

function changed(names: readonly string[]): ChangedMediaError {
  const shown = names.slice(0, 5).join(', ')
  const more = names.length > 5 ? ` and ${names.length - 5} more` : ''
  return new ChangedMediaError(
    `${shown}${more}: changed, or gone, since the run read ${names.length === 1 ? 'it' : 'them'}; a run goes on with the images and videos it began with`,
    { remedy: 'Put the files back as they were, or start a new run.' },
  )
}
