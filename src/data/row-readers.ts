/** What each kind of data makes of a row. */
import type { Rows } from './encode.js'
import { type FoundRow, readConversation } from './formats/conversations.js'
import { type FieldOptions, RowFields, RowProblem } from './formats/fields.js'
import { readLabelled } from './formats/labelled.js'
import { mediaColumns } from './formats/media.js'
import { readPreferences } from './formats/preferences.js'
import { dressPrompt, type PromptOptions } from './formats/prompt.js'
import { promptFrom } from './prompts.js'
import { asRow } from './read-rows.js'
import { hashRow, type RowHash } from './row-id.js'
import type { ExampleKind } from './types.js'

interface RowReader<T> {
  /** The column that a line of bare text is; undefined where it cannot be a row. */
  readonly bare: string | undefined
  read(fields: RowFields, options: PromptOptions, where: string): FoundRow<T>
}

const rowReaders: { readonly [K in ExampleKind]: RowReader<Rows[K]> } = {
  conversations: { bare: 'text', read: readConversation },
  preferences: { bare: undefined, read: readPreferences },
  labelled: { bare: undefined, read: readLabelled },
  prompts: {
    bare: 'prompt',
    read(fields, options, where) {
      const prompt = promptFrom(fields, where, options)
      if (typeof prompt === 'string') throw new RowProblem(prompt)
      const { column } = fields.find(fields.has('prompt') ? 'prompt' : 'messages')
      return { format: column, examples: [{ ...prompt, prompt: dressPrompt(prompt.prompt, fields, options) }] }
    },
  },
}

export type ReadRowOptions = FieldOptions & PromptOptions

export type ReadRow<T> =
  | ({ readonly kind: 'row'; readonly hash: RowHash; readonly roles: RowFields['roles'] } & FoundRow<T>)
  | { readonly kind: 'bad'; readonly reason: string; readonly message: string }

/** A value of a file as a row of a kind, or what is wrong with it. */
export function readRowAs<K extends ExampleKind>(
  kind: K,
  { value, where }: { value: unknown; where: string },
  options: ReadRowOptions,
): ReadRow<Rows[K]> {
  const { bare, read } = rowReaders[kind] as RowReader<Rows[K]>
  const checked = asRow(value, bare)
  if ('message' in checked) return { kind: 'bad', reason: 'format', message: checked.message }
  try {
    const hash = hashRow(checked.row)
    const fields = new RowFields(checked.row, options)
    const found = read(fields, options, where)
    const media = mediaColumns(fields)
    const examples = found.examples.map(example => ({ ...example, ...media }))
    return { kind: 'row', hash, roles: fields.roles, ...found, examples }
  } catch (error) {
    if (!(error instanceof RowProblem)) throw error
    return { kind: 'bad', reason: error.reason, message: error.message }
  }
}
