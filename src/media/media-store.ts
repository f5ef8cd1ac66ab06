/** The images and videos of a run, each kept once by its content: a replay needs neither their paths nor their URLs. */
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { makeDirectory, writeFileAtomic } from '../files/index.js'
import type { MediaItem, MediaPixels } from '../sequence/index.js'
import { bytesHash } from './content-hash.js'
import { decodeImage } from './decode.js'
import { MediaError } from './media-error.js'
import { encodePng } from './png.js'

/** An image or a video as a journal names it. */
export type KeptMedia = Omit<MediaPixels, 'frames'> & {
  /** SHA-256 of its pixels. */
  readonly pixels: string
  readonly runs: MediaItem['runs']
}

/** A PNG for each item; the frames of a video stand below each other. */
export class MediaStore {
  readonly #kept = new Map<string, Promise<string>>()

  constructor(
    readonly directory: string,
    /** Pixels along a side of a patch. */
    private readonly patchSize: number,
  ) {}

  async keep({ pixels: item, runs }: MediaItem): Promise<KeptMedia> {
    const { kind, hash, grid, secondsPerGrid } = item
    let written = this.#kept.get(hash)
    if (!written) {
      written = this.#write(item)
      this.#kept.set(hash, written)
    }
    const time = secondsPerGrid === undefined ? {} : { secondsPerGrid }
    return { kind, hash, grid, ...time, pixels: await written, runs }
  }

  async #write({ hash, grid, frames }: MediaPixels): Promise<string> {
    const path = this.#path(hash)
    if (!existsSync(path)) {
      const width = grid[2] * this.patchSize
      const png = await encodePng({ data: frames, width, height: frames.length / (3 * width) })
      await makeDirectory(this.directory)
      await writeFileAtomic(path, png)
    }
    return bytesHash(frames)
  }

  /** The item as it was. One that is gone or damaged is a {@link MediaError} that names its file. */
  async read({ pixels, runs, ...item }: KeptMedia): Promise<MediaItem> {
    const path = this.#path(item.hash)
    const bytes = await readFile(path).catch(cause => {
      throw new MediaError('missing', `${path}: the run's copy of an ${item.kind} is gone`, { cause })
    })
    const limits = { maxPixels: Number.MAX_SAFE_INTEGER, maxFrames: 1, timeoutSeconds: 600 }
    const { data: frames } = await decodeImage(bytes, limits).catch(error => {
      throw error instanceof MediaError ? error.of(path) : error
    })
    if ((await bytesHash(frames)) !== pixels)
      throw new MediaError('damaged', `${path}: the run's copy of an ${item.kind} has other pixels than the run read`)
    return { pixels: { ...item, frames }, runs }
  }

  #path(hash: string): string {
    return join(this.directory, `${hash}.png`)
  }
}
