import type { z } from 'zod'
import { schemaProblems } from '../errors/index.js'

/** Fills in defaults; invalid options are a `RangeError` that names the loss and each option. */
export function resolveOptions<S extends z.ZodObject>(name: string, schema: S, options: z.input<S>): z.output<S> {
  const result = schema.safeParse(options)
  if (result.success) return result.data
  const problems = schemaProblems(result.error, {
    known: Object.keys(schema.shape),
    describe: key => (schema.shape[key] as z.ZodType | undefined)?.description,
  })
  throw new RangeError(`${name}: ${problems.join('; ')}`)
}
