/** Conversations with tool calls as clients and data sets write them, in the form that chat templates take. */
import type { ChatMessage } from '../chat-messages.js'
import { isObject } from '../json.js'

/**
 * Arguments of calls are objects, not JSON text; results have the name of their tool; a turn of calls alone has the content ''. What is
 * no JSON stays text.
 */
export function templateMessages(messages: readonly ChatMessage[]): readonly ChatMessage[] {
  const names = new Map<unknown, unknown>()
  return messages.map(message => {
    if (!isObject(message)) return message
    if (Array.isArray(message.tool_calls)) {
      const calls = message.tool_calls.map(templateCall)
      for (const call of calls) if (isObject(call) && isObject(call.function)) names.set(call.id, call.function.name)
      return { ...message, content: message.content ?? '', tool_calls: calls }
    }
    const name = message.role === 'tool' ? (message.name ?? names.get(message.tool_call_id)) : undefined
    return typeof name === 'string' ? { ...message, name } : message
  })
}

function templateCall(call: unknown): unknown {
  if (!isObject(call) || !isObject(call.function)) return call
  const { arguments: given } = call.function
  return { ...call, function: { ...call.function, arguments: typeof given === 'string' ? parsed(given) : given } }
}

function parsed(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text)
    return isObject(value) ? value : text
  } catch {
    return text
  }
}
