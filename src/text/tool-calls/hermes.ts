import { type CallParser, callOf, jsonEnd, type ParsedCall } from './parsed-turn.js'

const [open, close] = ['<tool_call>', '</tool_call>']

/**
 * Hermes, Qwen2.5 and Qwen3: `<tool_call>{"name": "add", "arguments": {...}}</tool_call>`, any number of them. The object is scanned,
 * because a string in it may contain the closing tag.
 */
export const parseHermes: CallParser = text => {
  const calls: ParsedCall[] = []
  let said = ''
  let at = 0
  for (;;) {
    const start = text.indexOf(open, at)
    if (start < 0) return { text: (said + text.slice(at)).trim(), calls }
    said += text.slice(at, start)
    const { call, end } = block(text, start + open.length)
    calls.push(call)
    at = end
  }
}

/** One call, and where the text after it begins. */
function block(text: string, from: number): { call: ParsedCall; end: number } {
  const begin = from + (/^\s*/.exec(text.slice(from))?.[0].length ?? 0)
  const end = text[begin] === '{' ? jsonEnd(text, begin) : undefined
  if (end === undefined) {
    const closed = text.indexOf(close, from)
    const body = text.slice(from, closed < 0 ? text.length : closed).trim()
    const after = closed < 0 ? text.length : closed + close.length
    const message = closed < 0 ? `${open} is not closed` : `expected a JSON object between ${open} and ${close}`
    return { call: { name: '', argumentsText: body, status: 'malformed', message }, end: after }
  }
  const rest = text.slice(end)
  const closing = /^\s*<\/tool_call>/.exec(rest)
  if (closing) return { call: callOf(text.slice(begin, end), ['arguments']), end: end + closing[0].length }
  const closed = text.indexOf(close, end)
  const message = closed < 0 ? `${open} is not closed` : `expected ${close} after the JSON object`
  const body = text.slice(begin, closed < 0 ? text.length : closed).trim()
  return {
    call: { name: '', argumentsText: body, status: 'malformed', message },
    end: closed < 0 ? text.length : closed + close.length,
  }
}
