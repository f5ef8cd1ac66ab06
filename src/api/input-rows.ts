/** The rows that `score` and `generate` read: lines of JSON in one of a few forms. */
import { z } from 'zod'
import { InputError } from '../errors/index.js'
import { BadLines, numberedLines, parseJsonLine } from '../files/index.js'
import type { ChatMessage } from '../text/index.js'
import type { Rows } from './spool-rows.js'

const ids = z.custom<readonly number[]>(value => Array.isArray(value) || value instanceof Int32Array, {
  error: 'expected a list of token ids',
})
const string = z.string({ error: 'expected a string' })
// The tokenizer says what is wrong with a message: it knows the template.
const messages = z.custom<readonly ChatMessage[]>(() => true)

/** What `score` takes. */
export const scoreRow = oneOf(
  {
    ids: z.object({ ids }),
    pair: z.object({ prompt: string, response: string }),
    messages: z.object({ messages }),
  },
  '{"ids":[...]}, {"prompt":"...","response":"..."} or {"messages":[...]}',
)
export type ScoreRow = z.output<typeof scoreRow>

/** What `generate` takes. */
export const promptRow = oneOf(
  { prompt: z.object({ prompt: string }), ids: z.object({ ids }), messages: z.object({ messages }) },
  '{"prompt":"..."}, {"ids":[...]} or {"messages":[...]}',
)

/** A row as `schema` has it; an {@link InputError} says what is wrong with it, without its number. */
export function parseRow<T>(schema: z.ZodType<T>, value: unknown): T {
  const row = schema.safeParse(value)
  if (row.success) return row.data
  throw new InputError(
    row.error.issues
      .map(({ path, message }) => (path.length > 0 ? `${path.join('.')}: ${message}` : message))
      .join('; '),
  )
}

/** A JSONL file, or rows. */
export type InputRows<Row extends object> = string | Rows<Row>

/** Every row as `read` has it. The ones that are wrong are one error at the end. */
export async function* readInput<T>(
  data: InputRows<object>,
  read: (row: unknown, number: number) => Promise<T>,
  signal: AbortSignal,
): AsyncGenerator<T, void> {
  const bad = new BadLines(typeof data === 'string' ? data : 'data')
  for await (const { number, value } of numbered(data, signal)) {
    let row: T
    try {
      row = await read(value(), number)
    } catch (error) {
      if (!(error instanceof InputError)) throw error
      bad.add(number, error.message)
      continue
    }
    yield row
  }
  bad.throwIfAny()
}

async function* numbered(data: InputRows<object>, signal: AbortSignal) {
  if (typeof data === 'string') {
    for await (const { text, line } of numberedLines(data, { signal }))
      yield { number: line, value: (): unknown => parseJsonLine(text) }
    return
  }
  let number = 0
  for await (const row of data) {
    signal.throwIfAborted()
    yield { number: ++number, value: (): unknown => row }
  }
}

type Forms = Readonly<Record<string, z.ZodObject>>
type Row<F extends Forms> = { [Kind in keyof F]: { kind: Kind } & z.output<F[Kind]> }[keyof F]

/** An object with the fields of exactly one form. Other fields, such as an id, are ignored. */
function oneOf<const F extends Forms>(forms: F, shown: string): z.ZodType<Row<F>> {
  return z
    .custom<Readonly<Record<string, unknown>>>(
      value => typeof value === 'object' && value !== null && !Array.isArray(value),
      { error: `expected ${shown}` },
    )
    .transform((row, context): Row<F> => {
      const fields = (kind: string): string[] => Object.keys(forms[kind]!.shape).filter(name => name in row)
      const found = Object.keys(forms).filter(kind => fields(kind).length > 0)
      const [kind] = found
      if (kind === undefined || found.length > 1) {
        const got = kind === undefined ? Object.keys(row).slice(0, 8).join(', ') : found.flatMap(fields).join(' and ')
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
}
