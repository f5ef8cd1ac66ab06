/** What a turn of a model says: reasoning, text and tool calls. */

export type ParsedCall = {
  /** Empty where the call has none. */
  readonly name: string
  /** As the model wrote it. */
  readonly argumentsText: string
} & (
  | { readonly status: 'ok'; readonly arguments: unknown }
  | { readonly status: 'invalid-json' | 'malformed'; readonly message: string }
)

export interface ParsedTurn {
  readonly reasoning: string | undefined
  /** Without reasoning and calls. */
  readonly text: string
  readonly calls: readonly ParsedCall[]
}

/** Divides what follows the reasoning into text and calls. */
export type CallParser = (text: string) => Omit<ParsedTurn, 'reasoning'>

const thinkEnd = '</think>'

/** Text inside of the reasoning is never a call: a model that thinks about a call has not made it. */
export function withoutReasoning(text: string): { readonly reasoning: string | undefined; readonly rest: string } {
  const opened = /^\s*<think>/.exec(text)
  const end = text.indexOf(thinkEnd)
  if (end >= 0)
    return { reasoning: text.slice(opened?.[0].length ?? 0, end).trim(), rest: text.slice(end + thinkEnd.length) }
  return opened ? { reasoning: text.slice(opened[0].length).trim(), rest: '' } : { reasoning: undefined, rest: text }
}

/** Where the JSON object or list that starts at `from` ends. Undefined: it does not end. Braces inside of strings do not count. */
export function jsonEnd(text: string, from: number): number | undefined {
  let depth = 0
  let inString = false
  for (let i = from; i < text.length; i++) {
    const character = text[i]
    if (inString) {
      if (character === '\\') i++
      else if (character === '"') inString = false
    } else if (character === '"') inString = true
    else if (character === '{' || character === '[') depth++
    else if ((character === '}' || character === ']') && --depth === 0) return i + 1
  }
  return undefined
}

/** A call from the text of its object, such as `{"name": "add", "arguments": {"a": 1}}`. */
export function callOf(text: string, argumentKeys: readonly string[]): ParsedCall {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    return { name: '', argumentsText: text, status: 'invalid-json', message: `not JSON: ${(error as Error).message}` }
  }
  return callOfValue(value, text, argumentKeys)
}

export function callOfValue(value: unknown, text: string, argumentKeys: readonly string[]): ParsedCall {
  const malformed = (name: string, message: string): ParsedCall => ({
    name,
    argumentsText: text,
    status: 'malformed',
    message,
  })
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    return malformed('', 'expected an object with "name" and "arguments"')
  const { name, ...fields } = value as Record<string, unknown>
  if (typeof name !== 'string' || name === '') return malformed('', 'the call has no "name"')
  const key = argumentKeys.find(one => one in fields)
  if (key === undefined) return malformed(name, `the call has no "${argumentKeys[0]}"`)
  return { name, argumentsText: JSON.stringify(fields[key]), status: 'ok', arguments: fields[key] }
}
