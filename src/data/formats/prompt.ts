/** What comes before an answer, and the answer: a text each, or messages. */
import type { ChatMessage } from '../../text/index.js'
import { expected, lookUp, type RowFields, RowProblem } from './fields.js'
import { isAssistant, messageText, readMessages } from './messages.js'

export type Prompt = string | readonly ChatMessage[]
/** A text, or the messages that follow the prompt. */
export type Answer = string | readonly ChatMessage[]

export interface PromptOptions {
  readonly promptTemplate?: string | undefined
  readonly systemPrompt?: string | undefined
}

/** The prompt's column, in the template and behind the system prompt that the config gives. */
export function readPrompt(fields: RowFields, options: PromptOptions): Prompt {
  const { column, value } = fields.textOrList('prompt')
  if (typeof value !== 'string') return dressPrompt(readMessages(column, value), fields, options)
  if (value.trim() === '') throw new RowProblem(`${column}: empty; add text, or remove the row`, 'empty')
  return dressPrompt(withAbout(value, column, fields, options), fields, options)
}

/** Columns that a prompt of such a column is about: of Alpaca, of Dolly, and of questions about a text. */
const aboutColumns: Readonly<Record<string, readonly string[]>> = {
  instruction: ['input', 'context'],
  question: ['context'],
  query: ['context'],
}

/** A prompt and what it is about. A template that names the column puts it where it wants; a prompt that a config names is all of it. */
export function withAbout(
  prompt: string,
  column: string,
  fields: RowFields,
  { promptTemplate = '' }: PromptOptions,
): string {
  const isNamed = fields.options.columns.prompt !== undefined && column !== 'instruction'
  const names = isNamed ? [] : (aboutColumns[column] ?? [])
  const parts = names.flatMap(name => {
    const about = Object.hasOwn(fields.row, name) ? fields.row[name] : undefined
    if (typeof about !== 'string' || about.trim() === '' || promptTemplate.includes(`{${name}}`)) return []
    fields.roles.set(name, 'prompt')
    return [about]
  })
  return [prompt, ...parts].join('\n\n')
}

/**
 * The prompt in the config's template, behind the system message of its row. A text with such a message becomes a conversation. The
 * system prompt that the config gives a text is the encoder's affair: the text has no messages yet.
 */
export function dressPrompt(prompt: Prompt, fields: RowFields, options: PromptOptions): Prompt {
  const { promptTemplate } = options
  const system = systemOf(fields, options)
  if (typeof prompt === 'string') {
    const text = promptTemplate ? fill(promptTemplate, prompt, fields) : prompt
    return system === undefined ? text : withSystem([{ role: 'user', content: text }], { systemPrompt: system })
  }
  const messages = withSystem(prompt, { systemPrompt: system ?? options.systemPrompt })
  if (!promptTemplate) return messages
  const last = messages.findLastIndex(({ role }) => role === 'user')
  return messages.map((message, i) =>
    i === last ? { ...message, content: fill(promptTemplate, messageText(message), fields) } : message,
  )
}

/** The system message in a column of the row. A template that names the column puts it where it wants. */
function systemOf(fields: RowFields, { promptTemplate = '' }: PromptOptions): string | undefined {
  const { column, value } = fields.find('system')
  const isNamed = fields.options.columns.system !== undefined
  if (value === undefined || promptTemplate.includes(`{${column}}`)) return undefined
  if (typeof value !== 'string') {
    if (isNamed) throw expected(column, 'a text', value)
    return undefined
  }
  if (value.trim() === '') return undefined
  fields.roles.set(column, 'system')
  return value
}

export function withSystem(messages: readonly ChatMessage[], { systemPrompt }: PromptOptions): readonly ChatMessage[] {
  const has = messages.some(({ role }) => role === 'system' || role === 'developer')
  return has || systemPrompt === undefined ? messages : [{ role: 'system', content: systemPrompt }, ...messages]
}

function fill(template: string, prompt: string, fields: RowFields): string {
  return template.replace(/\{\{|\}\}|\{([^{}]+)\}/g, (whole, name: string | undefined) => {
    if (name === undefined) return whole[0]!
    if (name === 'prompt') return prompt
    const value = lookUp(fields.row, name)
    if (value === undefined || value === null)
      throw new RowProblem(`${name}: missing, and promptTemplate uses it; for literal braces write {{ and }}`)
    return typeof value === 'string' ? value : JSON.stringify(value)
  })
}

/** An answer's column: a text, or messages that begin with the assistant's. */
export function readAnswer(fields: RowFields, name: 'completion' | 'chosen' | 'rejected'): Answer {
  const { column, value } = fields.textOrList(name)
  return checkAnswer(column, value)
}

export function checkAnswer(column: string, value: unknown): Answer {
  if (typeof value === 'string') {
    if (value.trim() === '') throw new RowProblem(`${column}: empty; add text, or remove the row`, 'empty')
    return value
  }
  // A single message is accepted like a list of one.
  const messages = readMessages(column, isMessage(value) ? [value] : value)
  if (!messages.some(isAssistant)) throw new RowProblem(`${column}: no message of the assistant`, 'empty')
  return messages
}

function isMessage(value: unknown): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && ('role' in value || 'from' in value)
}
