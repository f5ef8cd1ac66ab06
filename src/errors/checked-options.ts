import { z } from 'zod'
import { ConfigError } from './errors.js'
import { schemaProblemList, valueIn } from './schema-problems.js'

/** Options of a function with their defaults. Wrong options are one error, whose lines begin with `name`. */
export function checkedOptions<S extends z.ZodType>(name: string, schema: S, given: unknown): z.output<S> {
  const result = schema.safeParse(given)
  if (result.success) return result.data
  const known = schema instanceof z.ZodObject ? Object.keys(schema.shape) : []
  const problems = schemaProblemList(result.error, { known, valueAt: valueIn(given) })
  throw new ConfigError(problems.map(problem => ({ ...problem, message: `${name}: ${problem.message}` })))
}
