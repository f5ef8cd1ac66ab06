import type { z } from 'zod'
import { SourceError } from './errors.js'
import { type FunctionOptions, sampleReward } from './function-source.js'
import type { RewardInput } from './input.js'
import type { RewardAnswer, RewardSource } from './source.js'

/** A reward that knows the columns of its rows. */
export interface DefinedReward<Schema extends z.ZodType = z.ZodType> extends RewardSource {
  readonly rowSchema: Schema
}

/**
 * A reward over rows with a schema: an unknown column does not compile, and a row that does not fit is a failure that names the
 * column.
 *
 * @example
 * const reward = defineReward(z.object({ answer: z.string() }), ({ row, response }) => (response.includes(row.answer) ? 1 : 0))
 */
export function defineReward<Schema extends z.ZodType>(
  rowSchema: Schema,
  fn: (input: RewardInput<z.output<Schema>>, options: { signal: AbortSignal }) => RewardAnswer | Promise<RewardAnswer>,
  options: FunctionOptions = {},
): DefinedReward<Schema> {
  const source = sampleReward(
    (input, context) => {
      const result = rowSchema.safeParse(input.row)
      if (!result.success) throw new SourceError('input', rowMessage(result.error))
      return fn({ ...input, row: result.data }, context)
    },
    { ...options, name: options.name ?? (fn.name || 'reward') },
  )
  return { ...source, text: String(fn), rowSchema, rowProblem: row => problemOf(rowSchema, row) }
}

function problemOf(schema: z.ZodType, row: unknown): string | undefined {
  try {
    const result = schema.safeParse(row)
    return result.success ? undefined : rowMessage(result.error)
  } catch {
    // A schema with promises is checked when samples are scored.
    return undefined
  }
}

/** The columns that every row needs: all that is known of a schema in another process. */
export function requiredColumns(source: RewardSource): string[] {
  const { shape = {} } = ('rowSchema' in source ? source.rowSchema : {}) as { shape?: Record<string, z.ZodType> }
  return Object.keys(shape).filter(name => problemOf(shape[name]!, undefined) !== undefined)
}

function rowMessage(error: z.ZodError): string {
  const [first] = error.issues
  const column = first!.path.length > 0 ? `row.${first!.path.join('.')}` : 'row'
  const more = error.issues.length > 1 ? ` (and ${error.issues.length - 1} more)` : ''
  return `${column}: ${first!.message}${more}. Check the dataset's column, or the schema given to defineReward.`
}
