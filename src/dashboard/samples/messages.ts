/** The conversation behind the ids of a prompt: chat templates make text of messages, and here it is the other way round. */
import type { ChatMessage, Tokenizer } from '../../text/index.js'

/** Markers of turns in the chat formats that models use. */
const formats = [
  /<\|im_start\|>(\w+)\n([\s\S]*?)(?:<\|im_end\|>\n?|$)/g,
  /<\|start_header_id\|>(\w+)<\|end_header_id\|>\n\n([\s\S]*?)(?:<\|eot_id\|>|$)/g,
]

/** Empty where the text has no markers that are known. */
export function chatTurns(text: string): { role: string; text: string }[] {
  for (const format of formats) {
    const turns = [...text.matchAll(format)].map(([, role, said]) => ({ role: role!, text: said! }))
    if (turns.length > 0) return turns
  }
  return []
}

/** Messages that the tokenizer's template makes exactly these ids of; undefined where there are none, or they are not found. */
export async function promptMessages(tokenizer: Tokenizer, ids: Int32Array): Promise<ChatMessage[] | undefined> {
  if (!tokenizer.hasChatTemplate) return undefined
  const text = await tokenizer.decode(ids)
  for (const messages of [oneQuestion(tokenizer, text), severalTurns(text)]) {
    if (!messages) continue
    try {
      const again = await tokenizer.encodeChat(messages, asked)
      if (again.length === ids.length && again.every((id, at) => id === ids[at])) return messages
    } catch {
      // The template has no place for such messages.
    }
  }
  return undefined
}

const asked = { addGenerationPrompt: true }
const mark = 'the question stands here'

/** What stands where a template of any format puts a single question. */
function oneQuestion(tokenizer: Tokenizer, text: string): ChatMessage[] | undefined {
  const [before = '', after = ''] = tokenizer.renderChat([{ role: 'user', content: mark }], asked).split(mark)
  const isOne = text.length >= before.length + after.length && text.startsWith(before) && text.endsWith(after)
  return isOne ? [{ role: 'user', content: text.slice(before.length, text.length - after.length) }] : undefined
}

function severalTurns(text: string): ChatMessage[] | undefined {
  const turns = chatTurns(text)
  // The last one is begun for the assistant.
  return turns.length > 1 ? turns.slice(0, -1).map(({ role, text: content }) => ({ role, content })) : undefined
}
