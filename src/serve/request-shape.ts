/**
 * The fields of a JSON body. Each field is *honoured* (it has a schema), *refused* (the server cannot do what it asks for; neutral values
 * pass), or *harmless* (it does not change the answer). Any other field is refused as unknown, so that a misspelt one is noticed. `null`
 * counts as not given.
 */
import { z } from 'zod'
import { didYouMean } from '../errors/index.js'
import { badRequest, malformed } from './errors.js'

export type JsonObject = Readonly<Record<string, unknown>>

export interface Honoured<S extends z.ZodType = z.ZodType> {
  kind: 'honoured'
  schema: S
  /** For the docs. */
  note: string
}

export interface Refused {
  kind: 'refused'
  note: string
  /** Values that ask for what the server does anyway. The body: for values that depend on another field. */
  isNeutral: (value: unknown, body: JsonObject) => boolean
  /** The neutral values, for the docs. */
  passes: string
}

export interface Harmless {
  kind: 'harmless'
  note: string
}

export type FieldRule = Honoured | Refused | Harmless
export type FieldTable = Readonly<Record<string, FieldRule>>

/** The fields that are read from a body. */
export type FieldsOf<T extends FieldTable> = {
  [Name in keyof T as T[Name] extends Honoured ? Name : never]?:
    | (T[Name] extends Honoured<infer S> ? z.output<S> : never)
    | undefined
}

export const honoured = <S extends z.ZodType>(schema: S, note = ''): Honoured<S> => ({ kind: 'honoured', schema, note })

/** Refused, except for neutral values. */
export function refused(note: string, ...neutral: readonly unknown[]): Refused {
  const texts = neutral.map(value => JSON.stringify(value))
  return {
    kind: 'refused',
    note,
    isNeutral: value => texts.includes(JSON.stringify(value)),
    passes: texts.map(text => `\`${text}\``).join(', '),
  }
}

/** Refused, except where the whole body makes it neutral; `passes` describes when. */
export const refusedUnless = (note: string, passes: string, isNeutral: Refused['isNeutral']): Refused => ({
  kind: 'refused',
  note,
  isNeutral,
  passes,
})

export const harmless = (note: string): Harmless => ({ kind: 'harmless', note })

/** Reads the fields of a table from bodies. `at`: the object's place in the body, for messages (`body.sampling_params`). */
export class RequestShape<T extends FieldTable> {
  private readonly schema: z.ZodType<FieldsOf<T>>

  constructor(
    readonly table: T,
    private readonly at = 'body',
  ) {
    const fields = Object.entries(table).flatMap(([name, rule]) =>
      rule.kind === 'honoured' ? [[name, rule.schema.nullish().transform(value => value ?? undefined)] as const] : [],
    )
    this.schema = z.object(Object.fromEntries(fields)) as unknown as z.ZodType<FieldsOf<T>>
  }

  read(body: JsonObject): FieldsOf<T> {
    for (const [name, value] of Object.entries(body)) {
      if (value === null) continue
      const rule = Object.hasOwn(this.table, name) ? this.table[name]! : undefined
      if (!rule) throw this.unknown(name)
      if (rule.kind === 'refused' && !rule.isNeutral(value, body))
        throw badRequest(`${name} is not supported by this server: ${rule.note}.`, name)
    }
    const read = this.schema.safeParse(body)
    if (read.success) return read.data
    const { path, message } = read.error.issues[0]!
    throw malformed(`${path.join('.')}: ${message}`, [this.at, ...path].join('.'))
  }

  private unknown(name: string): Error {
    const shown = name.slice(0, 100)
    const meant = didYouMean(shown, Object.keys(this.table))
    return badRequest(`Unrecognized request argument supplied: ${shown}${meant || '.'}`, shown)
  }
}
