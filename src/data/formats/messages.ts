/** Lists of messages in the spellings there are: OpenAI's role and content, ShareGPT's from and value. */
import { z } from 'zod'
import { didYouMean } from '../../errors/index.js'
import type { ChatMessage } from '../../text/index.js'
import { RowProblem } from './fields.js'

/** ShareGPT's names of who speaks; a role of OpenAI's is its own. */
const roles: Readonly<Record<string, string>> = {
  system: 'system',
  developer: 'developer',
  user: 'user',
  assistant: 'assistant',
  tool: 'tool',
  function: 'function',
  ipython: 'ipython',
  human: 'user',
  gpt: 'assistant',
  chatgpt: 'assistant',
  bard: 'assistant',
  bing: 'assistant',
  model: 'assistant',
  observation: 'tool',
  function_response: 'tool',
}

const role = z.string({ error: 'expected a role, such as user or assistant' }).transform((name, context) => {
  const known = Object.hasOwn(roles, name) ? roles[name] : undefined
  if (known !== undefined) return known
  const names = ['system', 'user', 'assistant', 'tool']
  const message = `"${name}" is not a role${didYouMean(name, names) || `; there are ${names.join(', ')}`}`
  context.addIssue({ code: 'custom', message, input: name })
  return z.NEVER
})

const text = z.string({ error: 'expected a text' })
const part = z.looseObject({ type: z.string({ error: 'expected the type of a content part, such as text' }) })

const openAiMessage = z
  .looseObject({
    role,
    content: z
      .union([z.string(), z.array(part), z.null()], { error: 'expected a text, or a list of parts with a type' })
      .optional(),
  })
  .refine(({ content, tool_calls: calls }) => (content !== undefined && content !== null) || Array.isArray(calls), {
    error: 'expected a content',
    path: ['content'],
  })

const shareGptMessage = z
  .looseObject({ from: role, value: text })
  .transform(({ from, value, ...others }) => ({ ...others, role: from, content: value }))

/** Every message of a list, in OpenAI's spelling; a problem names the field that is wrong. */
export function readMessages(column: string, value: unknown): ChatMessage[] {
  if (!Array.isArray(value) || value.length === 0)
    throw new RowProblem(`${column}: expected a list of messages with a role and a content`)
  return value.map((message: unknown, i) => {
    if (typeof message !== 'object' || message === null || Array.isArray(message))
      throw new RowProblem(`${column}.${i}: expected a message with a role and a content`)
    const result = ('from' in message && !('role' in message) ? shareGptMessage : openAiMessage).safeParse(message)
    if (result.success) return result.data as ChatMessage
    const [issue] = result.error.issues
    throw new RowProblem(`${[column, i, ...issue!.path].join('.')}: ${issue!.message}`)
  })
}

export const isAssistant = ({ role }: ChatMessage): boolean => role === 'assistant'

/** The text of a message, for people and for lengths. */
export function messageText({ content }: ChatMessage): string {
  if (typeof content === 'string') return content
  return (content ?? []).map(one => (typeof one.text === 'string' ? one.text : `[${one.type}]`)).join('\n')
}

/** A conversation has to have something the assistant says. */
export function needAssistant(column: string, messages: readonly ChatMessage[]): void {
  if (!messages.some(isAssistant))
    throw new RowProblem(`${column}: no message of the assistant, so there is no trained token`, 'empty')
  const said = messages.some(
    message => isAssistant(message) && (messageText(message).trim() !== '' || Array.isArray(message.tool_calls)),
  )
  if (!said)
    throw new RowProblem(`${column}: the messages of the assistant are empty; add text, or remove the row`, 'empty')
}
