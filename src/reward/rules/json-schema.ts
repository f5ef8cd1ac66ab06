import { z } from 'zod'
import { RewardConfigError } from '../errors.js'
import type { RewardSource } from '../source.js'
import { type RuleOptions, rule } from './rule.js'

export interface JsonSchemaOptions extends RuleOptions {
  /** A JSON Schema (draft 2020-12, draft 7, draft 4 or OpenAPI 3.0). */
  readonly schema: Readonly<Record<string, unknown>>
}

/** 1 where the response is JSON that fits a schema, else 0. The JSON may stand in a ```json block, the only one there is. */
export function jsonSchema({ name = 'json-schema', schema }: JsonSchemaOptions): RewardSource {
  let compiled: z.ZodType
  try {
    compiled = z.fromJSONSchema(schema as Parameters<typeof z.fromJSONSchema>[0])
  } catch (cause) {
    throw new RewardConfigError(`rule ${name}: schema: ${(cause as Error).message}`, { cause })
  }
  return rule(name, ({ response }) => {
    const parsed = parseJson(response)
    return parsed && compiled.safeParse(parsed.value).success ? 1 : 0
  })
}

function parseJson(response: string): { value: unknown } | undefined {
  const blocks = [...response.matchAll(/```(?:json)?[ \t]*\r?\n([\s\S]*?)```/g)]
  const text = blocks.length === 1 ? blocks[0]![1]! : response
  try {
    return { value: JSON.parse(text) }
  } catch {
    return undefined
  }
}
