/**
 * A chat template as texts between messages. Ollama has templates of its own, in Go's language; a Jinja template that only joins messages
 * with fixed texts can be written in it. Which texts is found by rendering conversations, and checked with others.
 */
import type { ChatMessage, Vocabulary } from '../text/index.js'

export interface ChatFormat {
  /** Before the first user message; with a system message: before that, and between the two. */
  readonly start: string
  readonly system: { readonly before: string; readonly after: string } | undefined
  /** Between a user message and the answer, and between an answer and the next user message. */
  readonly toAssistant: string
  readonly toUser: string
  /** Behind the last user message: where the model continues. */
  readonly continues: string
  /** What the template says to the model where a conversation has no system message. */
  readonly defaultSystem: string | undefined
}

const user = (content: string): ChatMessage => ({ role: 'user', content })
const assistant = (content: string): ChatMessage => ({ role: 'assistant', content })
const system = (content: string): ChatMessage => ({ role: 'system', content })

/** Words that no template writes. */
const [first, answer, second, instruction] = ['qzFirstqz', 'qzAnswerqz', 'qzSecondqz', 'qzSystemqz']

/** Undefined: the template does something that fixed texts between messages do not. */
export function chatFormatOf({ tokenizer, chatTemplates }: Vocabulary): ChatFormat | undefined {
  // What depends on the day is no fixed text.
  if (/strftime_now|date_string/.test(chatTemplates.get('default') ?? 'strftime_now')) return undefined
  const render = (messages: readonly ChatMessage[]): string | undefined => {
    try {
      return tokenizer.renderChat(messages, { addGenerationPrompt: true })
    } catch {
      return undefined
    }
  }
  const [start, toAssistant, toUser, continues] =
    between(render([user(first), assistant(answer), user(second)]), [first, answer, second]) ?? []
  if (start === undefined || toAssistant === undefined || toUser === undefined || continues === undefined)
    return undefined
  const [before, after] = between(render([system(instruction), user(first)]), [instruction, first]) ?? []
  const withSystem = before === undefined || after === undefined ? undefined : { before, after }
  const format = { start, system: withSystem, toAssistant, toUser, continues }
  return reproduces(format, render) ? { ...format, defaultSystem: defaultSystemIn(format) } : undefined
}

/** The texts around the given words; undefined where one is missing or is there twice. */
function between(text: string | undefined, words: readonly string[]): string[] | undefined {
  const texts: string[] = []
  let rest = text
  for (const word of words) {
    const parts: string[] | undefined = rest?.split(word)
    if (parts?.length !== 2) return undefined
    texts.push(parts[0]!)
    rest = parts[1]!
  }
  return rest === undefined ? undefined : [...texts, rest]
}

/** The text of a conversation. */
function renderFormat(format: Omit<ChatFormat, 'defaultSystem'>, messages: readonly ChatMessage[]): string {
  const instruction = messages.find(({ role }) => role === 'system')?.content
  const spoken = messages.filter(({ role }) => role !== 'system')
  const { system, start, toAssistant, toUser, continues } = format
  const head = instruction !== undefined && system ? `${system.before}${String(instruction)}${system.after}` : start
  return spoken.reduce((text, { role, content }, i) => {
    const last = i === spoken.length - 1
    if (role === 'user') return `${text}${String(content)}${last ? continues : ''}`
    return `${text}${toAssistant}${String(content)}${last ? '' : toUser}`
  }, head)
}

function reproduces(
  format: Omit<ChatFormat, 'defaultSystem'>,
  render: (messages: readonly ChatMessage[]) => string | undefined,
): boolean {
  const spoken = ['What is 2 + 2?', '4.', 'And\n\n3 + 3?', '6, "of course"', 'Thanks']
  const turns = spoken.map((text, i) => (i % 2 === 0 ? user(text) : assistant(text)))
  return [turns.slice(0, 1), turns.slice(0, 3), turns].every(
    some =>
      render(some) === renderFormat(format, some) &&
      (!format.system ||
        [system('Be brief.')].every(said => render([said, ...some]) === renderFormat(format, [said, ...some]))),
  )
}

function defaultSystemIn({ start, system }: Omit<ChatFormat, 'defaultSystem'>): string | undefined {
  if (!system || start.length <= system.before.length + system.after.length) return undefined
  if (!start.startsWith(system.before) || !start.endsWith(system.after)) return undefined
  return start.slice(system.before.length, start.length - system.after.length)
}
