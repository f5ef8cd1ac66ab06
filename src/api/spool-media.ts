/** Images, videos and sounds of rows in code: files beside the rows, so that a run can be resumed and replayed from its directory. */
import { copyFile, writeFile } from 'node:fs/promises'
import { basename, dirname, extname, isAbsolute, join, relative, sep } from 'node:path'
import { InputError } from '../errors/index.js'
import { fileSha256, makeDirectory } from '../files/index.js'
import { bytesHash, existingPath, MediaError, type RawPixels, rawPngs } from '../media/index.js'

type Row = Readonly<Record<string, unknown>>

const columns = ['images', 'image', 'videos', 'video', 'audios', 'audio'] as const
/** Fields of a part of a message that may hold a file. */
const holders = ['image', 'image_url', 'video', 'video_url', 'audio', 'url', 'path', 'bytes', 'frames'] as const

/** The row with the names of copies in place of paths, bytes and pixels. Rows without media are the same object. */
export async function spoolMedia(row: Row, file: string, where: string): Promise<Row> {
  const place = new MediaFolder(join(dirname(file), 'media'), dirname(file))
  let made = row
  for (const name of columns)
    if (row[name] !== undefined && row[name] !== null)
      made = { ...made, [name]: await place.take(row[name], `${where}, field ${name}`) }
  for (const name of ['messages', 'prompt'] as const) {
    const messages = row[name]
    if (Array.isArray(messages)) made = { ...made, [name]: await place.messages(messages, `${where}, field ${name}`) }
  }
  return made
}

class MediaFolder {
  constructor(
    private readonly folder: string,
    private readonly root: string,
  ) {}

  async messages(messages: readonly unknown[], where: string): Promise<unknown[]> {
    return Promise.all(
      messages.map(async (message, i) => {
        const content = (message as Row | null)?.content
        if (!Array.isArray(content)) return message
        const parts = await Promise.all(content.map((part, k) => this.#part(part, `${where}[${i}].content[${k}]`)))
        return { ...(message as Row), content: parts }
      }),
    )
  }

  async #part(part: unknown, where: string): Promise<unknown> {
    if (typeof part !== 'object' || part === null) return part
    const { type } = part as { type?: unknown }
    if (typeof type !== 'string' || !/image|video|audio/.test(type)) return part
    const made: Record<string, unknown> = { ...part }
    for (const name of holders)
      if (made[name] !== undefined && made[name] !== null) made[name] = await this.take(made[name], where)
    return made
  }

  /** What JSON can hold, with files of this directory in place of files elsewhere. */
  async take(value: unknown, where: string): Promise<unknown> {
    if (value === null || value === undefined || typeof value === 'number') return value
    if (Array.isArray(value)) return Promise.all(value.map(one => this.take(one, where)))
    if (value instanceof URL) return this.take(value.href, where)
    if (typeof value === 'string') return /^(data|https?):/.test(value) ? value : this.#copy(value, where)
    if (value instanceof ArrayBuffer) return this.#write(new Uint8Array(value), '')
    if (value instanceof Uint8Array) return this.#write(value, '')
    if (typeof value !== 'object')
      throw new InputError(`${where}: expected an image, a video or a sound, got a ${typeof value}`)
    const fields = value as Row
    if (fields.data instanceof Uint8Array || fields.data instanceof Uint8ClampedArray) return this.#pixels(value, where)
    const entries = Object.entries(fields).map(async ([name, one]): Promise<[string, unknown]> => {
      const inner = (holders as readonly string[]).includes(name)
      return [name, inner ? await this.take(one, where) : one]
    })
    const made = Object.fromEntries(await Promise.all(entries))
    // Bytes are a file now.
    if (typeof made.bytes === 'string') return { ...made, bytes: null, path: made.bytes }
    return made
  }

  async #pixels(value: unknown, where: string): Promise<unknown> {
    const { frames, fps } = value as { frames?: number; fps?: number }
    const files = await named(where, () => rawPngs(value as RawPixels, frames))
    const names = await Promise.all(files.map(file => this.#write(file, '.png')))
    return frames === undefined ? names[0] : { frames: names, ...(fps === undefined ? {} : { fps }) }
  }

  async #write(bytes: Uint8Array, extension: string): Promise<string> {
    const path = join(this.folder, `${await bytesHash(bytes)}${extension}`)
    await makeDirectory(this.folder)
    await writeFile(path, bytes)
    return this.#name(path)
  }

  async #copy(given: string, where: string): Promise<string> {
    const from = await named(where, () => existingPath(given), `${given}: `)
    const sum = await fileSha256(from)
    const to = join(this.folder, `${sum}${extname(basename(from))}`)
    await makeDirectory(this.folder)
    await copyFile(from, to)
    return this.#name(to)
  }

  #name(path: string): string {
    const name = relative(this.root, path)
    return isAbsolute(name) ? name : name.split(sep).join('/')
  }
}

/** The work, whose problems name the field of the row. */
async function named<T>(where: string, work: () => Promise<T>, before = ''): Promise<T> {
  try {
    return await work()
  } catch (cause) {
    throw cause instanceof MediaError ? new InputError(`${where}: ${before}${cause.message}`, { cause }) : cause
  }
}
