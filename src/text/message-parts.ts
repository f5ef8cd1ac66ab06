/**
 * Messages whose content comes in parts. Text is text whichever way it comes: where a template does not go through parts
 * itself, those of a message are joined into one string, so that no path to a model writes them as JSON into a prompt.
 */
import type { ChatContentPart, ChatMessage } from './chat-messages.js'
import { ChatTemplateError } from './errors.js'

interface PartOptions {
  /** Types of parts besides text that may stand in a message. */
  mediaTypes: readonly string[]
  /** Whether the template goes through a list of parts itself. Asked only where there is one. */
  templateTakesParts: () => boolean
}

/** Where the text of a part is, by the names that chat APIs have for it. */
const textField: Readonly<Record<string, string>> = {
  text: 'text',
  input_text: 'text',
  output_text: 'text',
  refusal: 'refusal',
}

/** What vLLM and llama.cpp put between the texts of a message. */
const separator = '\n'

/** The same conversation with contents the template can write. A part that cannot be taken is an error that names it. */
export function normalizeParts(messages: readonly ChatMessage[], options: PartOptions): readonly ChatMessage[] {
  if (!messages.some(({ content }) => Array.isArray(content))) return messages
  return messages.map((message, messageIndex) => {
    const { content } = message
    if (!Array.isArray(content)) return message
    const parts = content.map((part: ChatContentPart, i) => {
      const fail = (what: string): never => {
        throw new ChatTemplateError(`messages[${messageIndex}].content[${i}]: ${what}`, { messageIndex })
      }
      return normalizePart(part, options.mediaTypes, fail)
    })
    if (options.templateTakesParts()) return { ...message, content: parts }
    const media = parts.findIndex(({ type }) => type !== 'text')
    if (media >= 0) {
      throw new ChatTemplateError(
        `messages[${messageIndex}].content[${media}]: a part of type "${parts[media]!.type}": this chat template takes only text`,
        { messageIndex },
      )
    }
    return { ...message, content: parts.map(({ text }) => text as string).join(separator) }
  })
}

function normalizePart(
  part: ChatContentPart,
  mediaTypes: readonly string[],
  fail: (what: string) => never,
): ChatContentPart {
  const field = Object.hasOwn(textField, part.type) ? textField[part.type]! : undefined
  if (field !== undefined) {
    const text = part[field]
    if (typeof text !== 'string') fail(`expected a string "${field}" in a part of type "${part.type}"`)
    return part.type === 'text' ? part : { type: 'text', text }
  }
  if (!mediaTypes.includes(part.type)) {
    fail(`a part of type "${part.type}": this model takes only ${['text', ...mediaTypes].join(', ')}`)
  }
  return part
}

/** Two texts that stand in no template, so that what became of them can be seen in what it writes. */
const probes = ['\uFDD0part-a\uFDD1', '\uFDD0part-b\uFDD1'] as const

/** Whether a template writes the texts of a list of parts as they are: not a list as JSON, nor an error. */
export function takesParts(render: (messages: readonly ChatMessage[]) => string): boolean {
  const content = probes.map(text => ({ type: 'text', text }))
  try {
    const text = render([{ role: 'user', content }])
    return probes.every(probe => text.includes(probe) && !text.includes(`"${probe}"`) && !text.includes(`'${probe}'`))
  } catch {
    return false
  }
}
