/** Images and videos of a conversation: which there are, in their order, and a part at the place of each for the chat template. */
import type { ChatContentPart, ChatMessage } from './chat-messages.js'
import { ChatTemplateError } from './errors.js'
import type { TextPrompt } from './fit-prompt.js'

type Kind = 'image' | 'video'

/** Columns of a row. What an image or a video may be is not looked at here. */
export interface MediaColumns {
  readonly images?: readonly unknown[] | undefined
  readonly videos?: readonly unknown[] | undefined
}

export interface PlacedMedia<P extends TextPrompt = TextPrompt> {
  /** With parts `{ type: 'image' }` and `{ type: 'video' }` in place of media and of marks in texts. */
  readonly prompt: P
  /** In the order of their parts. */
  readonly images: readonly unknown[]
  readonly videos: readonly unknown[]
}

/** Types of the parts that {@link placeMedia} writes. */
export const placedTypes: readonly string[] = ['image', 'video']

/** Fields of a part that hold its image or video. */
const holders: Readonly<Record<Kind, readonly string[]>> = {
  image: ['image', 'image_url', 'url', 'path', 'bytes', 'data'],
  video: ['video', 'video_url', 'frames', 'url', 'path', 'bytes', 'data'],
}
const mark = /<(image|video)>/

/**
 * Media stand in parts of messages, or in columns beside the messages. An item of a column goes to the next part that holds none, or
 * to the next mark `<image>` or `<video>` of a text; where there is neither, all items of a kind stand before the first text of the
 * user.
 *
 * @throws ChatTemplateError where there are more parts and marks than items, or fewer
 */
export function placeMedia(prompt: TextPrompt, columns: MediaColumns = {}): PlacedMedia {
  const left = { image: [...(columns.images ?? [])], video: [...(columns.videos ?? [])] }
  const given = { image: left.image.length, video: left.video.length }
  if (typeof prompt === 'string' && given.image + given.video === 0) return { prompt, images: [], videos: [] }
  const messages: readonly ChatMessage[] = typeof prompt === 'string' ? [{ role: 'user', content: prompt }] : prompt
  const found: Record<Kind, unknown[]> = { image: [], video: [] }
  const open = { image: 0, video: 0 }
  const take = (kind: Kind): ChatContentPart => {
    open[kind]++
    if (left[kind].length > 0) found[kind].push(left[kind].shift())
    return { type: kind }
  }
  const placed = messages.map(message => ({ ...message, ...contentOf(message, { given, take, found }) }))
  for (const kind of ['image', 'video'] as const) {
    if (open[kind] > given[kind]) throw mismatch(kind, open[kind], given[kind])
    if (left[kind].length > 0 && open[kind] > 0) throw mismatch(kind, open[kind], given[kind])
  }
  const rest = [...left.image.map(() => ({ type: 'image' })), ...left.video.map(() => ({ type: 'video' }))]
  // Before what the messages hold themselves, because their parts come before all others.
  found.image.unshift(...left.image)
  found.video.unshift(...left.video)
  return { prompt: withParts(placed, rest), images: found.image, videos: found.video }
}

interface Walk {
  readonly given: Readonly<Record<Kind, number>>
  readonly found: Record<Kind, unknown[]>
  take(kind: Kind): ChatContentPart
}

function contentOf({ content }: ChatMessage, walk: Walk): Pick<ChatMessage, 'content'> {
  const { given, found, take } = walk
  const texts = (text: string): ChatContentPart[] => {
    // Without media in columns a mark is text.
    const parts = text.split(mark)
    if (parts.length === 1 || given.image + given.video === 0) return [{ type: 'text', text }]
    return parts.flatMap((part, i): ChatContentPart[] => {
      if (i % 2 === 1) return given[part as Kind] > 0 ? [take(part as Kind)] : [{ type: 'text', text: `<${part}>` }]
      return part === '' ? [] : [{ type: 'text', text: part }]
    })
  }
  if (typeof content === 'string') {
    const parts = texts(content)
    return parts.some(({ type }) => type !== 'text') ? { content: parts } : { content }
  }
  if (!content) return {}
  return {
    content: content.flatMap((part): ChatContentPart[] => {
      const kind = kindOf(part)
      if (!kind) return typeof part.text === 'string' && part.type === 'text' ? texts(part.text) : [part]
      if (!holders[kind].some(field => part[field] !== undefined && part[field] !== null)) return [take(kind)]
      found[kind].push(part)
      return [{ type: kind }]
    }),
  }
}

function kindOf({ type, ...fields }: ChatContentPart): Kind | undefined {
  if (/^(input_)?image(_url)?$/.test(type) || 'image' in fields || 'image_url' in fields) return 'image'
  if (/^(input_)?video(_url)?$/.test(type) || 'video' in fields || 'video_url' in fields) return 'video'
  return undefined
}

function withParts(messages: readonly ChatMessage[], parts: readonly ChatContentPart[]): readonly ChatMessage[] {
  if (parts.length === 0) return messages
  const at = messages.findIndex(({ role }) => role === 'user')
  if (at === -1) throw new ChatTemplateError('messages: no message of the user, and there are images or videos for it')
  return messages.map((message, i) => {
    if (i !== at) return message
    const { content } = message
    const own = typeof content === 'string' ? [{ type: 'text', text: content }] : (content ?? [])
    return { ...message, content: [...parts, ...own] }
  })
}

const mismatch = (kind: Kind, open: number, given: number): ChatTemplateError =>
  new ChatTemplateError(`${kind}s: the messages have places for ${open}, and there are ${given}`)
