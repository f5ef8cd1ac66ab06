/** What a user types in a chat: a message, or a command. Pure, but for the file of `/save`. */
import { appendFile } from 'node:fs/promises'
import { dirname, relative, resolve } from 'node:path'
import { didYouMean, InputError, systemProblem } from '../errors/index.js'
import type { ChatContentPart, ChatMessage } from '../text/index.js'

type ChatInput =
  | { readonly kind: 'message'; readonly text: string }
  | { readonly kind: 'nothing' | 'help' | 'new' | 'retry' | 'quit' }
  | { readonly kind: 'system' | 'save'; readonly text: string }
  | { readonly kind: 'image' | 'video'; readonly paths: readonly string[] }
  | { readonly kind: 'unknown'; readonly message: string }

const commands = [
  { name: '/help', words: 'list the commands' },
  { name: '/system TEXT', words: 'set the system message (none without TEXT), start again' },
  { name: '/retry', words: 'answer the last message again' },
  { name: '/image PATH', words: 'add an image to the next message; several paths add several images' },
  {
    name: '/video PATH',
    words: 'add a video to the next message: an animated GIF or WebP, or a file that ffmpeg reads',
  },
  { name: '/save FILE', words: 'append the conversation to a JSONL file, for `whetstone sft`' },
  { name: '/new, /reset', words: 'start a new conversation' },
  { name: '/quit, /exit', words: 'end the chat; Ctrl-D and Ctrl-C do too' },
] as const

const kinds: Readonly<Record<string, ChatInput['kind']>> = {
  '/help': 'help',
  '/?': 'help',
  '/system': 'system',
  '/retry': 'retry',
  '/save': 'save',
  '/image': 'image',
  '/video': 'video',
  '/new': 'new',
  '/reset': 'new',
  '/clear': 'new',
  '/quit': 'quit',
  '/exit': 'quit',
  '/bye': 'quit',
}

export const chatHelp: string = commands.map(({ name, words }) => `  ${name.padEnd(14)}${words}`).join('\n')

/** A line of the user. A path such as /usr/bin is no command. */
export function chatInput(line: string): ChatInput {
  const text = line.trim()
  if (text === '') return { kind: 'nothing' }
  const [, word, rest = ''] = /^(\/[a-z?]+)(?:\s+(.*))?$/is.exec(text) ?? []
  if (word === undefined) return { kind: 'message', text }
  const kind = kinds[word.toLowerCase()]
  if (kind === undefined) {
    const meant = didYouMean(word, Object.keys(kinds))
    return { kind: 'unknown', message: `There is no command ${word}${meant}. /help lists the commands.` }
  }
  if (kind === 'image' || kind === 'video') {
    const paths = words(rest)
    if (paths.length > 0) return { kind, paths }
    return { kind: 'unknown', message: `${word} needs the path of a file: ${word} PATH.` }
  }
  if (kind === 'save' && rest === '') return { kind: 'unknown', message: '/save needs the name of a file: /save FILE.' }
  return kind === 'system' || kind === 'save' ? { kind, text: rest } : ({ kind } as ChatInput)
}

/** Words of a line. Quotes and backslashes keep the spaces of a path, as terminals write the name of a dropped file. */
function words(text: string): string[] {
  const found = text.match(/(?:"[^"]*"|'[^']*'|\\.|[^\s\\])+/g) ?? []
  return found.map(word =>
    word.replace(/"([^"]*)"|'([^']*)'|\\(.)/g, (_, double, single, one) => double ?? single ?? one),
  )
}

/** A conversation, and what to do with its end. */
export class Conversation {
  messages: ChatMessage[] = []
  /** Images and videos of the next message. */
  added: ChatContentPart[] = []

  constructor(public system: string | undefined) {
    this.restart()
  }

  restart(): void {
    this.added = []
    this.messages = this.system === undefined ? [] : [{ role: 'system', content: this.system }]
  }

  add(kind: 'image' | 'video', path: string): void {
    this.added.push({ type: kind, [kind]: resolve(path) })
  }

  /** A message of the user, with the images and videos that were added for it. */
  say(text: string): void {
    const content = this.added.length === 0 ? text : [...this.added, { type: 'text', text }]
    this.messages.push({ role: 'user', content })
    this.added = []
  }

  /** The last message of the user is to be answered again. Whether there is one. */
  retry(): boolean {
    const last = this.messages.findLastIndex(({ role }) => role === 'user')
    if (last < 0) return false
    this.messages.length = last + 1
    return true
  }

  /** Appends it to a file. Gives what to say. */
  async save(path: string): Promise<string> {
    const { length } = this.messages.filter(({ role }) => role !== 'system')
    if (length === 0) return 'There is nothing to save yet.'
    try {
      await appendFile(path, `${JSON.stringify({ messages: this.messages.map(message => beside(message, path)) })}\n`)
    } catch (error) {
      throw new InputError(`${path}: ${systemProblem(error, 'write')}`, { cause: error })
    }
    return `${path}: appended a conversation of ${length} ${length === 1 ? 'message' : 'messages'}.`
  }
}

/** With paths from the folder of the file, as rows of data have them. */
function beside(message: ChatMessage, file: string): ChatMessage {
  const { content } = message
  if (!Array.isArray(content)) return message
  const folder = dirname(resolve(file))
  const parts = content.map((part: ChatContentPart) => {
    const path = part[part.type]
    return part.type === 'text' || typeof path !== 'string' ? part : { ...part, [part.type]: relative(folder, path) }
  })
  return { ...message, content: parts }
}
