/** Rows as prompts to be answered, with the texts that answers are compared with. */
import { answerColumns, type ExampleSet, type PromptExample } from '../data/index.js'
import { InputError } from '../errors/index.js'
import type { ChatMessage } from '../text/index.js'

export interface EvaluationPrompt extends PromptExample {
  /** The row's target, or what its assistant says; none where it has neither. */
  readonly targets: readonly string[]
}

/** The first prompts of a set. */
export async function readPrompts(
  set: ExampleSet<PromptExample>,
  { limit = Number.POSITIVE_INFINITY }: { limit: number | undefined },
): Promise<EvaluationPrompt[]> {
  const prompts: EvaluationPrompt[] = []
  for await (const part of set.parts(64)) {
    prompts.push(...part.map(toPrompt))
    if (prompts.length >= limit) break
  }
  return prompts.slice(0, limit)
}

/** A conversation that ends with the assistant: everything before is the prompt, the last message the target. */
function toPrompt(example: PromptExample): EvaluationPrompt {
  const { prompt, target, row, where } = example
  const { asked, said } = typeof prompt === 'string' ? { asked: prompt, said: undefined } : beforeAnswer(prompt)
  if (asked.length === 0) throw new InputError(`${where}: expected a prompt before the message of the assistant`)
  const column = answerColumns.map(name => row[name]).find(value => typeof value === 'string')
  const targets = [target ?? said ?? column ?? []].flat() as readonly string[]
  return { ...example, prompt: asked, targets }
}

function beforeAnswer(messages: readonly ChatMessage[]) {
  const end = messages.findLastIndex(({ role }) => role !== 'assistant') + 1
  const said = messages.slice(end).map(({ content }) => textOf(content))
  return { asked: messages.slice(0, end), said: said.length === 0 ? undefined : said.join('\n') }
}

function textOf(content: ChatMessage['content']): string {
  if (typeof content === 'string') return content
  return (content ?? []).map(({ text }) => (typeof text === 'string' ? text : '')).join('')
}
