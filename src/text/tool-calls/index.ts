/** Tool calls in what a model wrote, in the formats of the model families. */
import type { Tokenizer } from '../tokenizer.js'
import { parseHermes } from './hermes.js'
import { parseLlama3 } from './llama3.js'
import { parseMistral } from './mistral.js'
import { type CallParser, type ParsedTurn, withoutReasoning } from './parsed-turn.js'

export { templateMessages } from './client-messages.js'
export type { ParsedCall, ParsedTurn } from './parsed-turn.js'

const toolFormats = ['hermes', 'llama3', 'mistral'] as const
export type ToolFormat = (typeof toolFormats)[number]

const parsers: Readonly<Record<ToolFormat, CallParser>> = {
  hermes: parseHermes,
  llama3: parseLlama3,
  mistral: parseMistral,
}

/** The format that a chat template writes calls in; undefined where it writes none, or another (`<function=NAME>`, as later Qwen models do). */
export function toolFormatOf(template: string): ToolFormat | undefined {
  if (template.includes('[TOOL_CALLS]')) return 'mistral'
  if (template.includes('<tool_call>')) return template.includes('<function=') ? undefined : 'hermes'
  if (template.includes('<|python_tag|>') || template.includes('"parameters": ')) return 'llama3'
  return undefined
}

/** Without a format, a turn has no calls. */
export function parseTurn(text: string, format: ToolFormat | undefined): ParsedTurn {
  const { reasoning, rest } = withoutReasoning(text)
  if (!format) return { reasoning, text: rest.trim(), calls: [] }
  return { reasoning, ...parsers[format](rest) }
}

/** The text of sampled ids for {@link parseTurn}: special tokens inside stay, because some formats mark calls with them. */
export function turnText(tokenizer: Tokenizer, ids: Int32Array): Promise<string> {
  let end = ids.length
  while (end > 0 && tokenizer.stopIds.concat(tokenizer.turnEndIds).includes(ids[end - 1]!)) end--
  return tokenizer.decode(ids.subarray(0, end))
}
