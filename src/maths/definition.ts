/**
 * Losses, estimators, algorithms and generators are definitions: objects with a name, a description and a schema of their
 * options. Ours are in tables; a user's is the default export of a file that a config names, or an object given in code.
 */
import { z } from 'zod'
import { didYouMean } from '../errors/index.js'
import { resolveOptions } from './options.js'

export interface Definition<What extends string = string> {
  readonly defines: What
  readonly name: string
  readonly description: string
  readonly options: z.ZodObject
  /** The file it was loaded from. Undefined where it was given in code, and for ours. */
  readonly file?: string | undefined
  /** How a run's config records it: its file, or its name with the source text of its functions. */
  toJSON(): string | { readonly name: string; readonly source: string }
}

/** Parts that follow from the others, or are text for people. */
const derived = ['schema', 'compute', 'formula']

const prototype = {
  toJSON(this: Definition): ReturnType<Definition['toJSON']> {
    if (this.file !== undefined) return this.file
    const { defines: _, name, description: __, options, ...parts } = this
    const texts = Object.entries(parts)
      .filter(([key]) => !derived.includes(key))
      .map(([key, part]) => `${key}: ${typeof part === 'function' ? String(part) : JSON.stringify(part)}`)
    const schema = JSON.stringify(z.toJSONSchema(options, { unrepresentable: 'any' }))
    return { name, source: [`options: ${schema}`, ...texts].join('\n') }
  },
}

/** Makes a definition of its parts. */
export function define<D extends Omit<Definition, 'toJSON'>>(parts: D): D & Pick<Definition, 'toJSON'> {
  const { defines, name, description, options } = parts
  const wrong = (what: string) => new TypeError(`${defines} ${JSON.stringify(name) ?? ''}: ${what}`)
  if (typeof name !== 'string' || !/^[\w+-]+$/.test(name))
    throw wrong('its name may only have letters, digits, _, + and -')
  if (typeof description !== 'string' || description === '') throw wrong('it needs a description')
  // By its methods: a file may come with another copy of zod.
  if (typeof options?.strict !== 'function') throw wrong('options must be a zod object, such as z.object({})')
  return Object.assign(Object.create(prototype) as Pick<Definition, 'toJSON'>, parts, { options: options.strict() })
}

/** By its fields: a definition may come from another copy of this package. */
export function isDefinition<What extends string>(value: unknown, what?: What): value is Definition<What> {
  if (typeof value !== 'object' || value === null || !('defines' in value) || !('toJSON' in value)) return false
  return what === undefined || value.defines === what
}

/** Whether an option names a file of a definition, rather than one of ours. */
export function isDefinitionPath(value: unknown): value is string {
  return typeof value === 'string' && (value.includes('/') || /\.[cm]?[jt]s$/.test(value))
}

/**
 * The schema of an option that is the name of one of ours or a definition. A path has to be loaded before: `loadDefinitions`
 * of `whetstone/train` does.
 */
export function definitionOption<Name extends string, D extends Definition>(
  names: readonly Name[],
  {
    what,
    accepts,
    hints = {},
  }: {
    what: string
    accepts: (value: unknown) => value is D
    /** Hints for names of other systems. */
    hints?: Readonly<Record<string, string>>
  },
) {
  const known: readonly string[] = names
  const schema = z
    .custom<Name | D>()
    .superRefine((value: unknown, context) => {
      if ((typeof value === 'string' && known.includes(value)) || accepts(value)) return
      const hint = typeof value === 'string' ? hints[value.toLowerCase()] : undefined
      // What goes together with it cannot be checked any more.
      const wrong = (message: string) => context.addIssue({ code: 'custom', message, continue: false })
      if (isDefinition(value)) wrong(`expected ${what}, got ${described(value)}`)
      else if (isDefinitionPath(value))
        wrong(`${value}: the file is not loaded; call loadDefinitions of whetstone/train first`)
      else if (hint !== undefined) wrong(`there is no "${value}"; ${hint}`)
      else
        context.addIssue({
          code: 'invalid_value',
          values: [...names],
          input: value,
          continue: false,
          message: `Invalid option: expected one of ${names.map(name => `"${name}"`).join('|')}`,
        })
    })
    .meta({ anyOf: [{ enum: [...names] }, { type: 'string', pattern: String.raw`[/]|\.[cm]?[jt]s$` }] })
  return schema as z.ZodType<Name | D, Name | D | DefinitionPath>
}

/** A file of a definition, as it is written. */
type DefinitionPath = `${string}/${string}` | `${string}.ts` | `${string}.js` | `${string}.mjs`

/** `the policy loss "mine" of mine.ts`, for errors. */
export function described({ defines, name, file, ...rest }: Pick<Definition, 'defines' | 'name' | 'file'>): string {
  const kind = 'kind' in rest && typeof rest.kind === 'string' ? `${rest.kind} ` : ''
  return `the ${kind}${defines} "${name}"${file === undefined ? '' : ` of ${file}`}`
}

/** One of a table by its name, or the definition that was given. */
export function definitionNamed<D extends Definition>(
  given: string | D,
  table: Readonly<Record<string, D>>,
  what: string,
): D {
  if (typeof given === 'object') return given
  if (Object.hasOwn(table, given)) return table[given]!
  const names = Object.keys(table)
  throw new RangeError(`there is no ${what} "${given}"; there are ${names.join(', ')}${didYouMean(given, names)}`)
}

/** Its options: those given for it, and options of a larger config with the same name. */
export function ownOptions(
  { name, options: schema }: Pick<Definition, 'name' | 'options'>,
  config: object,
  own: Readonly<Record<string, unknown>> = {},
): Record<string, unknown> {
  const common = Object.entries(config).filter(([option, value]) => option in schema.shape && value !== undefined)
  return resolveOptions(name, schema, { ...Object.fromEntries(common), ...own })
}
