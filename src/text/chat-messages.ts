import { didYouMean } from '../errors/index.js'
import { ChatTemplateError } from './errors.js'
import { isObject } from './json.js'

/** One turn. Fields beyond these (`tool_calls`, `name`, `reasoning_content`, ...) reach the template as they are. */
export interface ChatMessage {
  readonly role: string
  readonly content?: string | readonly ChatContentPart[] | null
  readonly [field: string]: unknown
}

/** A part of a multimodal message, such as `{ type: 'text', text: '...' }` or `{ type: 'image' }`. */
export interface ChatContentPart {
  readonly type: string
  readonly [field: string]: unknown
}

const standardRoles = ['system', 'developer', 'user', 'assistant', 'tool', 'function'] as const

/**
 * The roles that mean something to a template: those of every chat API, and every name the template mentions. Many templates
 * print any role they are given, so that a misspelt one would make a prompt the model has never seen.
 */
export function rolesIn(template: string): ReadonlySet<string> {
  const mentioned = [...template.matchAll(/'([^'\n]*)'|"([^"\n]*)"/g)].map(
    ([, single, double]) => single ?? double ?? '',
  )
  return new Set([...standardRoles, ...mentioned])
}

/** Says which message is wrong and how, before a template turns it into a puzzle. */
export function checkMessages(messages: readonly ChatMessage[], roles: ReadonlySet<string>): void {
  if (!Array.isArray(messages) || messages.length === 0) {
    throw new ChatTemplateError('messages: expected a list with at least one message')
  }
  for (const [messageIndex, message] of messages.entries()) {
    const fail = (what: string) => {
      throw new ChatTemplateError(`messages[${messageIndex}]${what}`, { messageIndex })
    }
    if (!isObject(message)) fail(`: expected an object with a role and a content, got ${kind(message)}`)
    const { role, content } = message
    if (typeof role !== 'string' || role === '') fail(`.role: expected a non-empty string, got ${kind(role)}`)
    if (!roles.has(role)) {
      const known = [...standardRoles]
      fail(
        `.role: "${role}" is not a role of this chat template${didYouMean(role, known) || `; there are ${known.join(', ')}`}`,
      )
    }
    if (Array.isArray(content)) {
      for (const [i, part] of content.entries()) {
        if (!isObject(part) || typeof part.type !== 'string') {
          fail(`.content[${i}]: expected an object with a string "type", got ${kind(part)}`)
        }
      }
    } else if (typeof content !== 'string' && content !== null && content !== undefined) {
      fail(`.content: expected a string or a list of parts, got ${kind(content)}`)
    }
  }
}

function kind(value: unknown): string {
  if (value === '') return 'an empty string'
  if (value === null || value === undefined) return String(value)
  return Array.isArray(value) ? 'a list' : `${typeof value === 'object' ? 'an' : 'a'} ${typeof value}`
}

const CONTINUE_TAG = 'CONTINUE_FINAL_MESSAGE_TAG '

/**
 * Renders a conversation whose last message is left open for the model to go on with: the message is rendered with a tag
 * at its end, and the text is cut there, so that whatever the template puts after a message falls away.
 */
export function renderOpenEnded(
  messages: readonly ChatMessage[],
  render: (messages: readonly ChatMessage[]) => string,
): string {
  const messageIndex = messages.length - 1
  const last = messages[messageIndex]!
  const content = tagContent(last.content)
  if (content === undefined) {
    throw new ChatTemplateError(`messages[${messageIndex}].content: continueFinalMessage needs text to continue`, {
      messageIndex,
    })
  }
  const text = render([...messages.slice(0, -1), { ...last, content }])
  const at = text.lastIndexOf(CONTINUE_TAG.trimEnd())
  if (at < 0) {
    throw new ChatTemplateError(
      `messages[${messageIndex}]: continueFinalMessage: the chat template does not render this message's content`,
      { messageIndex },
    )
  }
  // A template that trims a message would also have trimmed the text before the tag.
  return text.startsWith(CONTINUE_TAG, at) ? text.slice(0, at) : text.slice(0, at).trimEnd()
}

function tagContent(content: ChatMessage['content']): string | ChatContentPart[] | undefined {
  if (typeof content === 'string') return content + CONTINUE_TAG
  if (!Array.isArray(content)) return undefined
  const at = content.findLastIndex((part: ChatContentPart) => typeof part.text === 'string')
  if (at < 0) return undefined
  return content.map((part: ChatContentPart, i) => (i === at ? { ...part, text: part.text + CONTINUE_TAG } : part))
}
