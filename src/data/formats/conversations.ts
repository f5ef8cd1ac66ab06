/** Rows for supervised fine-tuning. */
import { z } from 'zod'
import { type ChatMessage, templateMessages } from '../../text/index.js'
import { expected, type RowFields, RowProblem } from './fields.js'
import { needAssistant, readMessages } from './messages.js'
import { type Answer, dressPrompt, type Prompt, type PromptOptions, readAnswer, readPrompt } from './prompt.js'

export type ConversationRow =
  | { readonly form: 'messages'; readonly messages: readonly ChatMessage[]; readonly tools?: readonly object[] }
  | { readonly form: 'answer'; readonly prompt: Prompt; readonly answer: Answer }
  /** Text that is trained on whole. */
  | { readonly form: 'text'; readonly text: string }

export interface FoundRow<T> {
  /** The format it was found to have, by its columns. */
  readonly format: string
  /** One, or as many as the row gives. */
  readonly examples: readonly T[]
}

export function readConversation(fields: RowFields, options: PromptOptions): FoundRow<ConversationRow> {
  const wants = (...names: string[]) => fields.mapped.length === 0 || fields.mapped.some(name => names.includes(name))
  if (wants('messages', 'tools') && fields.has('messages')) return fromMessages(fields, options)
  if (wants('prompt', 'completion') && fields.has('prompt') && fields.has('completion')) {
    const format = `${fields.find('prompt').column}, ${fields.find('completion').column}`
    const prompt = readPrompt(fields, options)
    return { format, examples: [{ form: 'answer', prompt, answer: readAnswer(fields, 'completion') }] }
  }
  if (wants('text') && fields.has('text')) {
    const text = fields.text('text')
    if (text.trim() === '') throw new RowProblem('text: empty; add text, or remove the row', 'empty')
    return { format: 'text', examples: [{ form: 'text', text }] }
  }
  throw noFormat(
    fields,
    'conversations',
    'messages, conversations, a prompt and its completion (also question and answer, instruction and output), or text',
  )
}

const tools = z.array(z.looseObject({}))

function fromMessages(fields: RowFields, options: PromptOptions): FoundRow<ConversationRow> {
  const { column, value } = fields.list('messages')
  const messages = templateMessages(readMessages(column, value))
  needAssistant(column, messages)
  const dressed = dressPrompt(messages, fields, { ...options, promptTemplate: undefined }) as readonly ChatMessage[]
  if (!fields.has('tools')) return { format: column, examples: [{ form: 'messages', messages: dressed }] }
  const found = fields.list('tools')
  const read = tools.safeParse(found.value)
  if (!read.success) throw expected(found.column, 'a list of JSON schemas', found.value)
  return { format: column, examples: [{ form: 'messages', messages: dressed, tools: read.data }] }
}

/** No format fits: what was expected, what is there, and how to say what is what. */
export function noFormat(fields: RowFields, kind: string, wanted: string): RowProblem {
  const { mapped, row } = fields
  const columns = Object.keys(row)
  if (mapped.length > 0) {
    const missing = mapped.filter(name => !fields.has(name as 'prompt'))
    if (missing.length > 0) {
      const names = missing.map(name => fields.find(name as 'prompt').column)
      return new RowProblem(`${names.join(', ')}: missing; the row has ${columns.join(', ') || 'no columns'}`)
    }
  }
  return new RowProblem(
    `no ${kind}: expected ${wanted}; the row has ${columns.join(', ') || 'no columns'}: set columns to name them`,
  )
}
