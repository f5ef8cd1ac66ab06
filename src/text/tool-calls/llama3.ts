import { type CallParser, callOf, jsonEnd, type ParsedCall } from './parsed-turn.js'

const tag = '<|python_tag|>'
const keys = ['parameters', 'arguments']

/**
 * Llama 3.1 and 3.2: the whole turn is `{"name": "add", "parameters": {...}}`, several separated by semicolons, with or without
 * `<|python_tag|>` before them. Without the tag, JSON that is no call is an answer.
 */
export const parseLlama3: CallParser = text => {
  const said = text.trim()
  const tagged = said.startsWith(tag)
  let rest = tagged ? said.slice(tag.length).trim() : said
  const calls: ParsedCall[] = []
  while (rest !== '') {
    const end = rest.startsWith('{') ? jsonEnd(rest, 0) : undefined
    if (end === undefined) {
      if (!tagged && calls.length === 0) return { text: said, calls: [] }
      const message = 'expected a JSON object with "name" and "parameters"'
      calls.push({ name: '', argumentsText: rest, status: 'malformed', message })
      break
    }
    const call = callOf(rest.slice(0, end), keys)
    if (call.status !== 'ok' && !tagged && calls.length === 0) return { text: said, calls: [] }
    calls.push(call)
    rest = rest.slice(end).trim()
    if (rest.startsWith(';')) rest = rest.slice(1).trim()
    else if (rest !== '') {
      calls.push({ name: '', argumentsText: rest, status: 'malformed', message: 'text after the call' })
      break
    }
  }
  return { text: '', calls }
}
