/** Rows as text for people, with the trained parts marked. */
import { firstTrained, type Sequence } from '../sequence/index.js'
import { type ChatMessage, placedTypes, placeMedia, type Tokenizer } from '../text/index.js'
import type { Rows } from './encode.js'
import { isAssistant, messageText } from './formats/messages.js'
import { type Answer, type Prompt, withSystem } from './formats/prompt.js'
import type { DataOptions } from './options.js'
import type { PromptRow } from './prompts.js'
import type { ExampleKind, Examples } from './types.js'

export interface RenderedPart {
  readonly text: string
  readonly trained: boolean
}

interface RenderedSection {
  /** Such as `chosen`; empty where there is only one. */
  readonly title: string
  readonly parts: readonly RenderedPart[]
}

export interface RenderedRow {
  readonly where: string
  readonly sections: readonly RenderedSection[]
  /** In characters, or in tokens where a tokenizer made it. */
  readonly length: number
}

type Rendered = Omit<RenderedRow, 'where'>
type RenderOptions = Pick<DataOptions, 'trainOn' | 'systemPrompt'>

/** A row before it is encoded. */
export function renderRow<K extends ExampleKind>(kind: K, row: Rows[K], options: RenderOptions): Rendered {
  const sections = (rowSections[kind] as (row: Rows[K], options: RenderOptions) => RenderedSection[])(row, options)
  // The model does not read labels and targets of prompts.
  return { sections, length: charactersOf(kind === 'prompts' ? sections.slice(0, 1) : sections) }
}

const rowSections: { [K in ExampleKind]: (row: Rows[K], options: RenderOptions) => RenderedSection[] } = {
  conversations: (row, options) => {
    const all = options.trainOn === 'all'
    if (row.form === 'text') return [{ title: '', parts: [{ text: row.text, trained: true }] }]
    const parts =
      row.form === 'messages'
        ? messageParts(row.messages, message => all || isAssistant(message))
        : [...promptParts(row.prompt, options, all), ...answerParts(row.answer)]
    return [{ title: '', parts }]
  },
  preferences: (row, options) => [
    { title: 'prompt', parts: promptParts(row.prompt, options) },
    { title: 'chosen', parts: answerParts(row.chosen) },
    { title: 'rejected', parts: answerParts(row.rejected) },
  ],
  labelled: (row, options) => [
    { title: 'prompt', parts: promptParts(row.prompt, options) },
    { title: row.desirable ? 'desirable' : 'undesirable', parts: answerParts(row.answer) },
  ],
  prompts: (row, options) => promptSections(row, promptParts(row.prompt, options)),
}

function promptSections(row: Pick<PromptRow, 'label' | 'target'>, parts: readonly RenderedPart[]) {
  const more = [
    { title: 'label', text: row.label },
    { title: 'target', text: typeof row.target === 'string' ? row.target : row.target?.join(' | ') },
  ]
  const told = more.flatMap(({ title, text }) =>
    text === undefined ? [] : [{ title, parts: [{ text, trained: false }] }],
  )
  return [{ title: told.length > 0 ? 'prompt' : '', parts }, ...told]
}

function promptParts(prompt: Prompt, options: RenderOptions, trained = false): RenderedPart[] {
  const messages = typeof prompt === 'string' ? [{ role: 'user', content: prompt }] : prompt
  return messageParts(withSystem(messages, options), () => trained)
}

function answerParts(answer: Answer): RenderedPart[] {
  return typeof answer === 'string' ? [{ text: answer, trained: true }] : messageParts(answer, isAssistant)
}

function messageParts(messages: readonly ChatMessage[], trained: (message: ChatMessage) => boolean): RenderedPart[] {
  return messages.flatMap(message => [
    { text: `${message.role}: `, trained: false },
    { text: messageText(message), trained: trained(message) },
    { text: '\n', trained: false },
  ])
}

const charactersOf = (sections: readonly RenderedSection[]): number =>
  sections.reduce((sum, { parts }) => sum + parts.reduce((inner, { text }) => inner + text.length, 0), 0)

/** An example as a trainer sees it. The text is made only on request, because few examples are shown. */
interface ExampleRendering {
  length(): Promise<number>
  render(): Promise<Rendered>
}

export function renderExample<K extends ExampleKind>(
  kind: K,
  example: Examples[K],
  tokenizer: Tokenizer,
): ExampleRendering {
  const rendering = exampleRenderings[kind] as (example: Examples[K], tokenizer: Tokenizer) => ExampleRendering
  return rendering(example, tokenizer)
}

const exampleRenderings: {
  [K in ExampleKind]: (example: Examples[K], tokenizer: Tokenizer) => ExampleRendering
} = {
  conversations: ({ sequence }, tokenizer) =>
    tokenRendering([sequence], async () => [{ title: '', parts: await maskedParts(sequence, tokenizer) }]),
  preferences: ({ chosen, rejected }, tokenizer) =>
    tokenRendering([chosen, rejected], async () => [
      ...(await answerSections(chosen, 'chosen', tokenizer)),
      ...(await answerSections(rejected, 'rejected', tokenizer)).slice(1),
    ]),
  labelled: ({ sequence, desirable }, tokenizer) =>
    tokenRendering([sequence], () => answerSections(sequence, desirable ? 'desirable' : 'undesirable', tokenizer)),
  prompts: (example, tokenizer) => {
    const { prompt } = placeMedia(example.prompt, example)
    const chat = { addGenerationPrompt: true, mediaTypes: placedTypes }
    const text = typeof prompt === 'string' ? prompt : tokenizer.renderChat(prompt, chat)
    const length = async () =>
      (typeof prompt === 'string'
        ? await tokenizer.encodePrompt(text)
        : await tokenizer.encode(text, { addSpecialTokens: false })
      ).length
    const render = async () => ({
      sections: promptSections(example, [{ text, trained: false }]),
      length: await length(),
    })
    return { length, render }
  },
}

function tokenRendering(sequences: readonly Sequence[], sections: () => Promise<RenderedSection[]>): ExampleRendering {
  const length = Math.max(...sequences.map(({ ids }) => ids.length))
  return { length: async () => length, render: async () => ({ sections: await sections(), length }) }
}

/** The prompt, and the answer, which is trained. */
async function answerSections(sequence: Sequence, title: string, tokenizer: Tokenizer): Promise<RenderedSection[]> {
  const { ids } = sequence
  const first = firstTrained(sequence)
  const [prompt, answer] = await Promise.all(
    [ids.subarray(0, first), ids.subarray(first)].map(part => tokenizer.decode(part)),
  )
  return [
    { title: 'prompt', parts: [{ text: prompt!, trained: false }] },
    { title, parts: [{ text: answer!, trained: true }] },
  ]
}

/** Runs of tokens that are trained, and of those that are not. */
async function maskedParts({ ids, trained }: Sequence, tokenizer: Tokenizer): Promise<RenderedPart[]> {
  const parts: RenderedPart[] = []
  for (let from = 0; from < ids.length; ) {
    let to = from + 1
    while (to < ids.length && trained[to] === trained[from]) to++
    parts.push({ text: await tokenizer.decode(ids.subarray(from, to)), trained: trained[from] === 1 })
    from = to
  }
  return parts
}
