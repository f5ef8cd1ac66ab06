import { type ChatMessage, callingTurn } from '../text/index.js'
import type { ToolCall } from './environment.js'

/** A turn of the policy as a message of the conversation. */
export function messageOfTurn(text: string, reasoning: string | undefined, calls: readonly ToolCall[]): ChatMessage {
  const content = reasoning === undefined ? text : `<think>\n${reasoning}\n</think>\n\n${text}`
  if (calls.length === 0) return { role: 'assistant', content }
  const given = calls.map(call => ({
    ...answeredCall(call),
    arguments: call.status === 'ok' ? call.input : call.argumentsText,
  }))
  return callingTurn(given, content)
}

/** A call without a name is answered too. */
export const answeredCall = ({ id, name }: ToolCall): { id: string; name: string } => ({ id, name: name || 'unknown' })
