/** What a user types in a chat: a message, or a command. Pure, but for the file of `/save`. */
import { appendFile } from 'node:fs/promises'
import { didYouMean, InputError, systemProblem } from '../errors/index.js'
import type { ChatMessage } from '../text/index.js'

export type ChatInput =
  | { readonly kind: 'message'; readonly text: string }
  | { readonly kind: 'nothing' | 'help' | 'new' | 'retry' | 'quit' }
  | { readonly kind: 'system' | 'save'; readonly text: string }
  | { readonly kind: 'unknown'; readonly message: string }

const commands = [
  { name: '/help', words: 'list the commands' },
  { name: '/system TEXT', words: 'set the system message (none without TEXT), start anew' },
  { name: '/retry', words: 'answer the last message again' },
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
  if (kind === 'save' && rest === '') return { kind: 'unknown', message: '/save needs the name of a file: /save FILE.' }
  return kind === 'system' || kind === 'save' ? { kind, text: rest } : ({ kind } as ChatInput)
}

/** A conversation, and what to do with its end. */
export class Conversation {
  messages: ChatMessage[] = []

  constructor(public system: string | undefined) {
    this.restart()
  }

  restart(): void {
    this.messages = this.system === undefined ? [] : [{ role: 'system', content: this.system }]
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
      await appendFile(path, `${JSON.stringify({ messages: this.messages })}\n`)
    } catch (error) {
      throw new InputError(`${path}: ${systemProblem(error, 'write')}`, { cause: error })
    }
    return `${path}: appended a conversation of ${length} ${length === 1 ? 'message' : 'messages'}.`
  }
}
