/** Rows that say which of two answers is better. */
import { isDeepStrictEqual } from 'node:util'
import type { ChatMessage } from '../../text/index.js'
import { type FoundRow, noFormat } from './conversations.js'
import { type RowFields, RowProblem } from './fields.js'
import { isAssistant, readMessages } from './messages.js'
import {
  type Answer,
  checkAnswer,
  dressPrompt,
  type Prompt,
  type PromptOptions,
  readAnswer,
  readPrompt,
} from './prompt.js'
import { isTranscript, readTranscript } from './transcript.js'

export interface PreferenceRow {
  readonly prompt: Prompt
  readonly chosen: Answer
  readonly rejected: Answer
  readonly margin?: number
}

export function readPreferences(fields: RowFields, options: PromptOptions): FoundRow<PreferenceRow> {
  if (fields.has('chosen') && fields.has('rejected')) {
    const { format, ...pair } = readPair(fields, options)
    if (isDeepStrictEqual(pair.chosen, pair.rejected))
      throw new RowProblem('chosen and rejected are equal, so the row teaches nothing', 'same-answers')
    const margin = fields.has('margin') ? { margin: fields.number('margin') } : {}
    return { format, examples: [{ ...pair, ...margin }] }
  }
  if (fields.has('responses')) return readRanked(fields, options)
  throw noFormat(fields, 'preferences', 'prompt, chosen and rejected, or prompt, responses and rankings or scores')
}

function readPair(fields: RowFields, options: PromptOptions): PreferenceRow & { format: string } {
  const chosen = readAnswer(fields, 'chosen')
  const rejected = readAnswer(fields, 'rejected')
  if (typeof chosen !== typeof rejected)
    throw new RowProblem('chosen and rejected: expected two texts, or two lists of messages')
  if (typeof chosen === 'string' && typeof rejected === 'string' && !fields.has('prompt') && !fields.has('messages')) {
    if (!isTranscript(chosen) || !isTranscript(rejected)) return commonStart(chosen, rejected, fields, options)
    return { format: 'transcripts', ...splitPair(readTranscript(chosen), readTranscript(rejected), fields, options) }
  }
  // Lists that begin with what the user says are whole conversations, whatever the prompt's column repeats of them.
  if (typeof chosen !== 'string' && typeof rejected !== 'string' && !isAssistant(chosen[0]!))
    return {
      format: 'chosen, rejected (their common start is the prompt)',
      ...splitPair(chosen, rejected, fields, options),
    }
  if (fields.has('messages') && !fields.has('prompt')) {
    const { column, value } = fields.list('messages')
    const prompt = dressPrompt(readMessages(column, value), fields, options)
    return { format: `${column}, chosen, rejected`, prompt, chosen, rejected }
  }
  const prompt = readPrompt(fields, options)
  return { format: `${fields.find('prompt').column}, chosen, rejected`, prompt, chosen, rejected }
}

/** Texts that begin alike and have no prompt beside them, as TRL takes them: the words that both begin with are the prompt. */
function commonStart(
  chosen: string,
  rejected: string,
  fields: RowFields,
  options: PromptOptions,
): PreferenceRow & { format: string } {
  const missing = (why: string): RowProblem =>
    new RowProblem(`prompt: missing, and ${why}; set columns to name it, such as columns: {prompt: question}`)
  const isNamed = fields.options.columns.chosen !== undefined
  const texts = Object.keys(fields.row).filter(
    name => !['chosen', 'rejected'].includes(name) && isProse(fields.row[name]),
  )
  if (texts.length > 0 && !isNamed) throw missing(`${texts.join(', ')} may be it`)
  if (chosen === rejected) return { format: 'chosen, rejected', prompt: '', chosen, rejected }
  // Both answers keep a character at least.
  const most = Math.min(chosen.trimEnd().length, rejected.trimEnd().length) - 1
  let end = 0
  while (end < most && chosen[end] === rejected[end]) end++
  while (end > 0 && !/\s/.test(chosen[end - 1]!)) end--
  // The space in front of a word is part of it, as in the vocabulary of most tokenizers.
  if (chosen[end - 1] === ' ') end--
  const prompt = chosen.slice(0, end)
  if (prompt.trim() === '') throw missing('chosen and rejected do not begin with the same words')
  return {
    format: 'chosen, rejected (their common start is the prompt)',
    prompt: dressPrompt(prompt, fields, options),
    chosen: chosen.slice(end),
    rejected: rejected.slice(end),
  }
}

const isProse = (value: unknown): boolean => typeof value === 'string' && /\S\s+\S/.test(value)

/** What both conversations begin with is the prompt. */
function splitPair(
  chosen: readonly ChatMessage[],
  rejected: readonly ChatMessage[],
  fields: RowFields,
  options: PromptOptions,
): PreferenceRow {
  let shared = 0
  while (shared < Math.min(chosen.length, rejected.length) && isDeepStrictEqual(chosen[shared], rejected[shared]))
    shared++
  if (shared === chosen.length && shared === rejected.length)
    throw new RowProblem('chosen and rejected are equal, so the row teaches nothing', 'same-answers')
  // An answer begins with the assistant: where what the user says differs, or one has ended, so does the prompt before it.
  while (shared > 0 && !(isAssistantAt(chosen, shared) && isAssistantAt(rejected, shared))) shared--
  if (shared === 0) throw new RowProblem('chosen and rejected: expected both to start with the same prompt')
  const prompt = dressPrompt(chosen.slice(0, shared), fields, options)
  return {
    prompt,
    chosen: needWords('chosen', chosen.slice(shared)),
    rejected: needWords('rejected', rejected.slice(shared)),
  }
}

const isAssistantAt = (messages: readonly ChatMessage[], i: number): boolean =>
  i < messages.length && isAssistant(messages[i]!)

function needWords(field: string, answer: readonly ChatMessage[]): readonly ChatMessage[] {
  if (!answer.some(({ content }) => typeof content !== 'string' || content.trim() !== ''))
    throw new RowProblem(`${field}: the answer is empty; add text, or remove the row`, 'empty')
  return answer
}

/** Every pair of answers of which one is better. */
function readRanked(fields: RowFields, options: PromptOptions): FoundRow<PreferenceRow> {
  const by = fields.has('scores') ? 'scores' : 'rankings'
  const { column, value } = fields.list('responses')
  const answers = value.map((one, i) => checkAnswer(`${column}.${i}`, one))
  const found = fields.numbers(by)
  if (found.value.length !== answers.length)
    throw new RowProblem(
      `${found.column}: ${found.value.length} entries for ${answers.length} ${column}; give one for each`,
    )
  const prompt = readPrompt(fields, options)
  // A first rank is the best, and so is a high score.
  const worth = by === 'scores' ? found.value : found.value.map(rank => -rank)
  const examples: PreferenceRow[] = []
  for (let i = 0; i < answers.length; i++)
    for (let j = i + 1; j < answers.length; j++) {
      if (worth[i] === worth[j] || isDeepStrictEqual(answers[i], answers[j])) continue
      const [better, worse] = worth[i]! > worth[j]! ? [i, j] : [j, i]
      examples.push({ prompt, chosen: answers[better]!, rejected: answers[worse]! })
    }
  if (examples.length === 0)
    throw new RowProblem(`${found.column}: all answers are equally good, so there is no pair`, 'same-answers')
  return { format: `${fields.find('prompt').column}, ${column}, ${found.column}`, examples }
}
