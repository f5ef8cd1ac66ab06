/** Prompt files: prompts, targets, labels and all other columns, for the rewards. */
import type { z } from 'zod'
import type { AudioInput, ImageInput, VideoInput } from '../media/index.js'
import type { ChatMessage } from '../text/index.js'
import { checkColumns, RowFields, RowProblem } from './formats/fields.js'
import { directoryOf, holdsMedia, mediaColumns } from './formats/media.js'
import { readMessages } from './formats/messages.js'
import { dressPrompt, type PromptOptions, type Prompt as TextPrompt, withAbout } from './formats/prompt.js'
import { BadRows, type DataRow, type LocatedRow, type ReadOptions, readRows } from './read-rows.js'
import { type Column, ColumnInference, checkRow, type RowSchema, toZod } from './row-schema.js'

/** Columns by what they are for; a dot goes into an object: `reward_model.ground_truth`. */
export interface PromptColumns {
  /** Default: `prompt`, `messages`, `question` or another common name, whichever is there. */
  readonly prompt?: string
  /** Default: `label` or `extra_info.label`. */
  readonly label?: string
  /** Default: `target`, `reference`, `reward_model.ground_truth`, `ground_truth`, `extra_info.reference`, `answer` or `solution`. */
  readonly target?: string
}

/** A text (a user's turn where there is a chat template), a conversation for the assistant to answer, or token ids. */
export type Prompt = TextPrompt | Int32Array

/** A prompt and what belongs to it. */
export interface PromptRow<Row = DataRow> {
  readonly prompt: Prompt
  /** Names the prompt: in random numbers, groups, the journal and errors. Where it is left out, the maker gives one. */
  readonly promptId?: string | undefined
  /** Which recipe its answers are graded by. */
  readonly label?: string | undefined
  /** The right answer, or several of which any will do. */
  readonly target?: string | readonly string[] | undefined
  /** All columns, as the schema reads them. */
  readonly row?: Row
  /** For the places in the prompt that hold none, in their order; messages may hold images themselves. */
  readonly images?: readonly ImageInput[] | undefined
  readonly videos?: readonly VideoInput[] | undefined
  /** Sounds, for servers and rewards; no local model hears them. */
  readonly audios?: readonly AudioInput[] | undefined
  /** File and line. */
  readonly where?: string
  /** The directory of the file: paths of media start here, and lead to nothing outside. Without one, any path is read. */
  readonly mediaRoot?: string | undefined
}

/** As a file has it. */
export interface FilePrompt<Row = DataRow> extends PromptRow<Row> {
  readonly prompt: TextPrompt
  readonly row: Row
  readonly where: string
}

interface PromptFile<Row = DataRow> {
  readonly prompts: readonly FilePrompt<Row>[]
  /** The columns as they were found. */
  readonly columns: readonly Column[]
  /** The same for a person to read. */
  readonly description: string
}

export interface PromptFileOptions<Row> extends ReadOptions {
  /** What every row should have. Without one, rows are taken as they are. */
  readonly schema?: RowSchema<Row>
  readonly columns?: PromptColumns
  /** A further check of a row, such as whether its samples can get a reward. */
  readonly check?: (prompt: FilePrompt<Row>) => string | undefined
}

/**
 * Reads a prompt file. All bad rows are found before anything is returned, and are one error.
 *
 * @example
 * const schema = z.object({ question: z.string(), answer: z.string() })
 * const { prompts } = await readPrompts('gsm8k.jsonl', { schema, columns: { prompt: 'question', target: 'answer' } })
 */
export async function readPrompts<Row = DataRow>(
  file: string,
  options: PromptFileOptions<Row> = {},
): Promise<PromptFile<Row>> {
  const { columns = {} } = options
  checkColumns(definedOf(columns))
  const schema = options.schema ? toZod(options.schema) : undefined
  const bad = new BadRows(file, options.listed)
  const inference = new ColumnInference()
  const prompts: FilePrompt<Row>[] = []
  const ids = new Map<unknown, string>()
  for await (const located of readRows(file, bad, options)) {
    inference.add(located.row)
    const { where, row } = located
    if (row.id !== undefined) {
      const first = ids.get(row.id)
      if (first !== undefined)
        bad.add(where, `id: ${JSON.stringify(row.id)} is already the id of ${first}; ids must be unique`)
      ids.set(row.id, where)
    }
    const prompt = toPrompt(located, schema, columns)
    const problem = typeof prompt === 'string' ? prompt : options.check?.(prompt)
    if (problem !== undefined) bad.add(where, problem)
    else if (typeof prompt !== 'string') prompts.push(prompt)
  }
  bad.throwIfAny()
  if (prompts.length === 0) bad.add(file, 'no rows')
  bad.throwIfAny()
  return { prompts, columns: inference.columns, description: inference.describe() }
}

/** A row as a prompt, or what is wrong with it. */
export function toPrompt<Row>(
  { row, where, values = 'typed' }: LocatedRow,
  schema: z.ZodType<Row> | undefined,
  columns: PromptColumns,
): FilePrompt<Row> | string {
  const checked = schema ? checkRow(schema, row) : { row: row as Row }
  if ('message' in checked) return checked.message
  const fields = new RowFields(row, { columns: definedOf(columns), values })
  const prompt = promptFrom(fields, where, {})
  if (typeof prompt === 'string') return prompt
  return { ...prompt, prompt: dressPrompt(prompt.prompt, fields, {}), row: checked.row }
}

/** The fields of a row as a prompt, or what is wrong with them. */
export function promptFrom(fields: RowFields, where: string, options: PromptOptions): FilePrompt | string {
  const { columns } = fields.options
  const prompt = orProblem(() => promptOf(fields, columns, options))
  if ('message' in prompt) return prompt.message
  const label = orProblem(() => labelOf(fields, columns))
  if ('message' in label) return label.message
  const target = orProblem(() => targetOf(fields, columns))
  if ('message' in target) return target.message
  const media = orProblem(() => ({ value: mediaColumns(fields) }))
  if ('message' in media) return media.message
  return {
    prompt: prompt.value,
    row: fields.row,
    where,
    ...(label.value === undefined ? {} : { label: label.value }),
    ...(target.value === undefined ? {} : { target: target.value }),
    ...media.value,
    ...(holdsMedia(media.value, prompt.value) ? { mediaRoot: directoryOf(where) } : {}),
  }
}

type Read<T> = { value: T } | { message: string }

/** The prompt of a row, or what is wrong with it. */
export function promptOf(
  fields: RowFields,
  { prompt: given }: PromptColumns,
  options: PromptOptions,
): Read<string | readonly ChatMessage[]> {
  const names = given === undefined ? (['prompt', 'messages'] as const) : (['prompt'] as const)
  const name = names.find(one => fields.has(one))
  if (name === undefined) {
    const columns = Object.keys(fields.row).join(', ')
    return {
      message:
        given === undefined
          ? `no prompt: expected a column prompt, messages, question or another common name; set columns to choose one of ${columns}`
          : `${given}: missing; the row has ${columns}`,
    }
  }
  const { column, value } = fields.textOrList(name)
  if (typeof value === 'string')
    return value.trim() === ''
      ? { message: `${column}: empty; add text, or remove the row` }
      : { value: withAbout(value, column, fields, options) }
  if (Array.isArray(value) && value.length > 0 && value.every(isMessage)) return { value: readMessages(column, value) }
  return { message: `${column}: expected a text, or a list of messages with a role and a content` }
}

function labelOf(fields: RowFields, { label: given }: PromptColumns): Read<string | undefined> {
  const { column, value } = fields.find('label')
  if (value === undefined)
    return given === undefined ? { value: undefined } : { message: `${given}: missing; every row needs a label` }
  fields.roles.set(column, 'label')
  return typeof value === 'string' ? { value } : { message: `${column}: expected the name of a recipe as text` }
}

function targetOf(fields: RowFields, { target: given }: PromptColumns): Read<string | readonly string[] | undefined> {
  const { column, value } = fields.find('target')
  if (value === undefined)
    return given === undefined ? { value: undefined } : { message: `${given}: missing; every row needs a target` }
  fields.roles.set(column, 'target')
  const text = (one: unknown) => typeof one === 'string' || typeof one === 'number'
  if (text(value)) return { value: String(value) }
  if (Array.isArray(value) && value.every(text)) return { value: value.map(String) }
  return { message: `${column}: expected a text, a number, or a list of them` }
}

function orProblem<T>(read: () => Read<T>): Read<T> {
  try {
    return read()
  } catch (error) {
    if (error instanceof RowProblem) return { message: error.message }
    throw error
  }
}

const definedOf = (columns: PromptColumns): Record<string, string> =>
  Object.fromEntries(Object.entries(columns).filter(([, column]) => column !== undefined))

function isMessage(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return false
  const { role, from } = value as { role?: unknown; from?: unknown }
  return typeof role === 'string' || typeof from === 'string'
}
