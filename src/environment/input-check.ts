/** Checks tool calls against the JSON Schema that a server gave. */
import { z } from 'zod'
import type { Tool } from './tool.js'

/** A schema that zod cannot read is left to the server: only the call's being an object is checked. */
export function inputCheck(parameters: Readonly<Record<string, unknown>>): Tool['check'] {
  const schema = readable(parameters)
  return input => {
    const parsed = schema.safeParse(input)
    if (parsed.success) return { kind: 'ok', input }
    const message = parsed.error.issues
      .map(({ path, message }) => (path.length > 0 ? `${path.map(String).join('.')}: ${message}` : message))
      .join('; ')
    return { kind: 'wrong', message }
  }
}

function readable(parameters: Readonly<Record<string, unknown>>): z.ZodType {
  try {
    return z.fromJSONSchema(parameters as Parameters<typeof z.fromJSONSchema>[0])
  } catch {
    return z.record(z.string(), z.unknown())
  }
}
