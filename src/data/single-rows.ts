/** A row by itself, with the columns that trainings know. */

import { DataError } from './errors.js'
import { type ConversationRow, readConversation } from './formats/conversations.js'
import { checkColumns, type FieldOptions, RowFields, RowProblem } from './formats/fields.js'
import { type MediaOfRow, mediaColumns } from './formats/media.js'
import type { Prompt } from './formats/prompt.js'
import { promptOf } from './prompts.js'
import { asRow } from './read-rows.js'

/** The prompt of a row: a text, or messages. Other columns are ignored. What is wrong is a {@link DataError}, without its place. */
export function promptOfRow(value: unknown, options: FieldOptions): Prompt {
  const read = reading(value, 'prompt', options, fields => promptOf(fields, options.columns, {}))
  if ('message' in read) throw new DataError(read.message)
  return read.value
}

/** The conversation of a row: messages, a prompt and its answer, or a text. */
export function conversationOfRow(value: unknown, options: FieldOptions): ConversationRow {
  return reading(value, 'text', options, fields => readConversation(fields, {})).examples[0]!
}

/** The images and videos in columns of a row; none where it is not an object. */
export function mediaOfRow(value: unknown, options: FieldOptions): MediaOfRow {
  if (typeof value !== 'object' || value === null) return {}
  return reading(value, 'text', options, mediaColumns)
}

/** `bare`: the column that a line of text is. */
function reading<T>(value: unknown, bare: string, options: FieldOptions, read: (fields: RowFields) => T): T {
  checkColumns(options.columns)
  const checked = asRow(value, bare)
  if ('message' in checked) throw new DataError(checked.message)
  try {
    return read(new RowFields(checked.row, options))
  } catch (error) {
    if (error instanceof RowProblem) throw new DataError(error.message)
    throw error
  }
}
