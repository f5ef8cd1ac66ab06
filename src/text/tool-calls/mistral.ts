import { type CallParser, callOf, callOfValue, jsonEnd, type ParsedCall } from './parsed-turn.js'

const mark = '[TOOL_CALLS]'
const argumentsMark = '[ARGS]'

/** Mistral: `[TOOL_CALLS] [{"name": "add", "arguments": {...}}]`, and the newer `[TOOL_CALLS]add[ARGS]{...}`. */
export const parseMistral: CallParser = text => {
  const [said = '', ...blocks] = text.split(mark)
  return { text: said.trim(), calls: blocks.flatMap(one => blockCalls(one.trim())) }
}

function blockCalls(block: string): readonly ParsedCall[] {
  const malformed = (message: string): ParsedCall[] => [
    { name: '', argumentsText: block, status: 'malformed', message },
  ]
  if (block.startsWith('[') && !block.startsWith(argumentsMark)) {
    const end = jsonEnd(block, 0)
    if (end === undefined) return malformed('the list of calls is not closed')
    if (block.slice(end).trim() !== '') return malformed('text after the list of calls')
    let list: unknown
    try {
      list = JSON.parse(block)
    } catch (error) {
      return [
        { name: '', argumentsText: block, status: 'invalid-json', message: `not JSON: ${(error as Error).message}` },
      ]
    }
    return (list as unknown[]).map(one => callOfValue(one, JSON.stringify(one), ['arguments']))
  }
  const at = block.indexOf(argumentsMark)
  if (at < 0) return malformed(`expected a list of calls, or a name and ${argumentsMark}`)
  const name = block.slice(0, at).trim()
  const given = block.slice(at + argumentsMark.length).trim()
  const end = given.startsWith('{') ? jsonEnd(given, 0) : undefined
  if (end === undefined || given.slice(end).trim() !== '')
    return malformed(`expected one JSON object after ${argumentsMark}`)
  const call = callOf(`{"name":${JSON.stringify(name)},"arguments":${given}}`, ['arguments'])
  return [{ ...call, name, argumentsText: given }]
}
