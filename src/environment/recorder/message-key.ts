/** When two messages are the same message. Clients write what they send again in their own way: parts, null, spaces in JSON. */
import { createHash } from 'node:crypto'
import type { ChatMessage } from '../../text/index.js'

/** Equal keys: the same message. */
export function messageKey(message: ChatMessage): string {
  const { role, content, tool_calls: calls, tool_call_id: answers } = message
  return hashOf([role, textOf(content), Array.isArray(calls) ? calls.map(callKey) : [], answers ?? null])
}

/** Keys of every beginning of a conversation; `before`: what it was asked with, such as its tools. */
export function prefixKeys(messages: readonly ChatMessage[], before: string): string[] {
  let key = before
  return messages.map(message => (key = hashOf([key, messageKey(message)])))
}

/** The key of a conversation that goes on with one more message. */
export const extendedKey = (key: string, message: ChatMessage): string => hashOf([key, messageKey(message)])

export const hashOf = (value: unknown): string =>
  createHash('sha256').update(JSON.stringify(value)).digest('base64').slice(0, 32)

function textOf(content: ChatMessage['content']): unknown {
  if (content === null || content === undefined) return ''
  if (typeof content === 'string') return content.trim()
  const texts = content.map(part => (part.type === 'text' && typeof part.text === 'string' ? part.text : part))
  return texts.every(text => typeof text === 'string') ? texts.join('\n').trim() : content
}

function callKey(call: unknown): unknown {
  const { id, function: called } = (call ?? {}) as { id?: unknown; function?: { name?: unknown; arguments?: unknown } }
  return [id ?? null, called?.name ?? null, canonical(called?.arguments)]
}

/** JSON that says the same is the same: arguments are text to clients, and objects to templates. */
function canonical(given: unknown): unknown {
  let value = given
  if (typeof given === 'string')
    try {
      value = JSON.parse(given)
    } catch {
      return given
    }
  return sorted(value)
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted)
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
  return entries.map(([name, one]) => [name, sorted(one)])
}
