/** The rows that `score` and `generate` read: one of a few forms, or what trainings read. */
import { z } from 'zod'
import { BadRows, type ConversationRow, conversationOfRow, directoryOf, promptOfRow, RowInput } from '../data/index.js'
import { InputError } from '../errors/index.js'
import { type LocateOptions, locateData } from '../source/index.js'
import type { ChatMessage, TextPrompt } from '../text/index.js'
import type { Rows } from './spool-rows.js'

const ids = z.custom<readonly number[]>(value => Array.isArray(value) || value instanceof Int32Array, {
  error: 'expected a list of token ids',
})
const string = z.string({ error: 'expected a string' })
// The tokenizer says what is wrong with a message: it knows the template. Messages in another spelling are those of trainings.
const messages = z.custom<readonly ChatMessage[]>(value => !Array.isArray(value) || !value.some(isShareGpt), {
  error: 'expected messages with a role and a content',
})

const isShareGpt = (message: unknown): boolean =>
  typeof message === 'object' && message !== null && 'from' in message && !('role' in message)

/** How the columns of rows are named. */
export interface ColumnOptions {
  /** Our names of columns to those of the data, such as `{ prompt: 'question' }`. Default: common names are known. */
  readonly columns?: Readonly<Record<string, string>>
}

/** A row of the input, and where it is, for messages. */
export interface InputRow {
  readonly value: unknown
  readonly where: string
  /** `cells`: every value is text, as in a CSV file. */
  readonly values: 'typed' | 'cells'
  /** The directory of the file: paths of media start here, and lead to nothing outside. Rows of a program have none. */
  readonly mediaRoot?: string
}

const scoreForms = oneOf(
  {
    ids: z.object({ ids }),
    pair: z.object({ prompt: string, response: string }),
    messages: z.object({ messages }),
  },
  '{"ids":[...]}, {"prompt":"...","response":"..."} or {"messages":[...]}',
)

/** What `score` takes. */
export type ScoreRow =
  | { readonly kind: 'ids'; readonly ids: readonly number[] }
  | { readonly kind: 'pair'; readonly prompt: TextPrompt; readonly response: string | readonly ChatMessage[] }
  | { readonly kind: 'messages'; readonly messages: readonly ChatMessage[]; readonly tools?: readonly object[] }
  | { readonly kind: 'text'; readonly text: string }

/** A row to score; an {@link InputError} says what is wrong with it, without its place. */
export function scoreRow(row: InputRow, options: ColumnOptions): ScoreRow {
  return inForms(scoreForms, row, options, (value, fields) => fromConversation(conversationOfRow(value, fields)))
}

function fromConversation(row: ConversationRow): ScoreRow {
  if (row.form === 'text') return { kind: 'text', text: row.text }
  if (row.form === 'answer') return { kind: 'pair', prompt: row.prompt, response: row.answer }
  const { messages, tools } = row
  return { kind: 'messages', messages, ...(tools ? { tools } : {}) }
}

const promptForms = oneOf(
  { prompt: z.object({ prompt: string }), ids: z.object({ ids }), messages: z.object({ messages }) },
  '{"prompt":"..."}, {"ids":[...]} or {"messages":[...]}',
)

/** What `generate` takes: token ids, a text or messages. */
type PromptInput =
  | { readonly kind: 'ids'; readonly ids: readonly number[] }
  | { readonly kind: 'turns'; readonly prompt: TextPrompt }

/** A prompt to answer; an {@link InputError} says what is wrong with it, without its place. */
export function promptRow(row: InputRow, options: ColumnOptions): PromptInput {
  const read = inForms(promptForms, row, options, (value, fields) => ({
    kind: 'prompt' as const,
    prompt: promptOfRow(value, fields),
  }))
  if (read.kind === 'ids') return read
  return { kind: 'turns', prompt: read.kind === 'messages' ? read.messages : read.prompt }
}

/** A row in one of our forms as it is; any other as trainings read it. */
function inForms<T, U>(
  forms: Forms<T>,
  { value, values }: InputRow,
  { columns = {} }: ColumnOptions,
  other: (value: unknown, fields: { columns: Readonly<Record<string, string>>; values: InputRow['values'] }) => U,
): T | U {
  const isMapped = Object.keys(columns).length > 0
  const own = isMapped && !hasIds(value) ? undefined : forms.schema.safeParse(value)
  if (own?.success) return own.data
  const wrong = own && new InputError(problemsOf(own.error))
  if (wrong && hasIds(value)) throw wrong
  try {
    return other(value, { columns, values })
  } catch (error) {
    // A row that is nearly in one of our forms is told what is wrong with it.
    throw wrong && error instanceof InputError && forms.isNear(value) ? wrong : error
  }
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

const hasIds = (value: unknown): boolean => isObject(value) && 'ids' in value

const problemsOf = ({ issues }: z.ZodError): string =>
  issues.map(({ path, message }) => (path.length > 0 ? `${path.join('.')}: ${message}` : message)).join('; ')

/** What trainings read (a file, a pattern, a folder, an id of the Hub), or rows. */
export type InputRows<Row extends object> = string | Rows<Row>

/** Rows that can be read more than once. */
export interface Input {
  /** Every row as `read` has it. The ones that are wrong are one error at the end. */
  rows<T>(read: (row: InputRow) => Promise<T>): AsyncGenerator<T, void>
  close(): Promise<void>
}

/** Opens the rows of an input. Rows of a program that are read `again` are collected first. */
export async function openInput(
  data: InputRows<object>,
  { reads, ...around }: LocateOptions & { readonly reads: 'once' | 'again' },
): Promise<Input> {
  const { signal = new AbortController().signal } = around
  if (typeof data !== 'string') {
    const rows = reads === 'once' ? data : await collected(data)
    return { rows: read => checkedRows('data', ofProgram(rows, signal), read), close: async () => {} }
  }
  const { path, origin } = await locateData(data, around)
  // As it was given: messages show it.
  const input = await RowInput.open(origin.kind === 'path' ? data : path, { signal })
  return { rows: read => checkedRows(data, ofFiles(input), read), close: () => input.close() }
}

async function collected(rows: Rows<object>): Promise<object[]> {
  const all: object[] = []
  for await (const row of rows) all.push(row)
  return all
}

type Found = InputRow | { readonly where: string; readonly problem: string }

async function* ofProgram(rows: Rows<object>, signal: AbortSignal): AsyncGenerator<Found> {
  let number = 0
  for await (const value of rows) {
    signal.throwIfAborted()
    yield { value, where: `data, row ${++number}`, values: 'typed' }
  }
}

async function* ofFiles(input: RowInput): AsyncGenerator<Found> {
  for await (const { where, parsed, values } of input.rows())
    yield parsed.kind === 'row'
      ? { value: parsed.value, where, values, mediaRoot: directoryOf(where) }
      : { where, problem: parsed.message }
}

async function* checkedRows<T>(
  shown: string,
  rows: AsyncIterable<Found>,
  read: (row: InputRow) => Promise<T>,
): AsyncGenerator<T, void> {
  const bad = new BadRows(shown)
  for await (const found of rows) {
    if ('problem' in found) {
      bad.add(found.where, found.problem)
      continue
    }
    let row: T
    try {
      row = await read(found)
    } catch (error) {
      if (!(error instanceof InputError)) throw error
      bad.add(found.where, error.message)
      continue
    }
    yield row
  }
  bad.throwIfAny()
}

interface Forms<T> {
  readonly schema: z.ZodType<T>
  /** Whether a value is no object, or has a field of one of the forms. */
  isNear(value: unknown): boolean
}

type Shapes = Readonly<Record<string, z.ZodObject>>
type Row<F extends Shapes> = { [Kind in keyof F]: { kind: Kind } & z.output<F[Kind]> }[keyof F]

/** An object with the fields of exactly one form. Other fields, such as an id, are ignored. */
function oneOf<const F extends Shapes>(forms: F, shown: string): Forms<Row<F>> {
  const fieldsOf = (row: object, kind: string): string[] => Object.keys(forms[kind]!.shape).filter(name => name in row)
  const schema = z
    .custom<Readonly<Record<string, unknown>>>(isObject, { error: `expected ${shown}` })
    .transform((row, context): Row<F> => {
      const found = Object.keys(forms).filter(kind => fieldsOf(row, kind).length > 0)
      const [kind] = found
      if (kind === undefined || found.length > 1) {
        const got =
          kind === undefined
            ? Object.keys(row).slice(0, 8).join(', ')
            : found.flatMap(one => fieldsOf(row, one)).join(' and ')
        const message =
          kind === undefined
            ? `expected ${shown}, got ${got || 'an empty object'}`
            : `expected one of ${shown}, got ${got} together`
        context.addIssue({ code: 'custom', message, input: row })
        return z.NEVER
      }
      const parsed = forms[kind]!.safeParse(row)
      if (parsed.success) return { kind, ...parsed.data } as Row<F>
      for (const { message, path } of parsed.error.issues)
        context.addIssue({ code: 'custom', message, path: [...path], input: row })
      return z.NEVER
    })
  return {
    schema,
    isNear: value => !isObject(value) || Object.keys(forms).some(kind => fieldsOf(value, kind).length > 0),
  }
}
