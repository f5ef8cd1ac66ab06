/** Columns of images, videos and sounds. */
import { dirname } from 'node:path'
import { rowProblem } from '../../errors/index.js'
import type { AudioInput, ImageInput, VideoInput } from '../../media/index.js'
import type { ChatMessage } from '../../text/index.js'
import { type RowFields, RowProblem } from './fields.js'

export interface MediaOfRow {
  readonly images?: readonly ImageInput[]
  readonly videos?: readonly VideoInput[]
  readonly audios?: readonly AudioInput[]
}

const names = { images: ['images', 'image'], videos: ['videos', 'video'], audios: ['audios', 'audio'] } as const

/** A list, one item, or null for none. Items are looked at when they are read. */
export function mediaColumns(fields: RowFields): MediaOfRow {
  const found = (kind: keyof typeof names): unknown[] => {
    for (const name of names[kind]) {
      const value = Object.hasOwn(fields.row, name) ? fields.row[name] : undefined
      if (value === undefined || value === null || (Array.isArray(value) && value.length === 0)) continue
      if (typeof value === 'number' || typeof value === 'boolean')
        throw new RowProblem(`${name}: expected a path, a list of paths, or objects with bytes, got ${String(value)}`)
      fields.roles.set(name, 'prompt')
      return Array.isArray(value) ? value.filter(one => one !== null) : [value]
    }
    return []
  }
  const [images, videos, audios] = [found('images'), found('videos'), found('audios')]
  return {
    ...(images.length === 0 ? {} : { images: images as ImageInput[] }),
    ...(videos.length === 0 ? {} : { videos: videos as VideoInput[] }),
    ...(audios.length === 0 ? {} : { audios: audios as AudioInput[] }),
  }
}

/** Whether a prompt has images or videos, in its columns or in its messages. */
export function holdsMedia({ images, videos, audios }: MediaOfRow, prompt: string | readonly ChatMessage[]): boolean {
  if (images || videos || audios) return true
  if (typeof prompt === 'string') return false
  return prompt.some(
    ({ content }) =>
      Array.isArray(content) && content.some(part => /image|video/.test(Object.keys(part).join() + part.type)),
  )
}

/** The directory of the file of a row. */
export function directoryOf(where: string): string {
  return dirname(rowProblem(where, '').file ?? where)
}
