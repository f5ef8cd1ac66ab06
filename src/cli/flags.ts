/**
 * A verb's flags are one zod schema: it says what is allowed, its descriptions are the help text, and what comes out is typed.
 * Keys are camelCase; `topP` is `--top-p` on the command line and in every message.
 */
import { type ParseArgsConfig, parseArgs } from 'node:util'
import { z } from 'zod'
import { didYouMean } from '../errors/index.js'

/** The command line is wrong: exit code 2. */
export class UsageError extends Error {
  override readonly name = 'UsageError'
}

/** How a key of a schema is typed: `--top-p` for `topP`. */
export function flagName(key: string): string {
  return `--${key.replace(/[A-Z]/g, letter => `-${letter.toLowerCase()}`)}`
}

// ---- kinds of flags

export const text = (placeholder: string, description: string, expected = 'some text') =>
  z
    .string({ error: `expected ${expected}` })
    .min(1, `expected ${expected}`)
    .meta({ placeholder, description })

export const directory = (description: string) => text('DIR', description, 'a directory')

export const file = (description: string) => text('FILE', description, 'a file')

/** A flag that may be given several times. */
export const several = (placeholder: string, description: string) =>
  z
    .array(text(placeholder, '', placeholder.toLowerCase()))
    .optional()
    .meta({ placeholder, description })

/** `--set KEY=VALUE`, of every verb with a config. */
export const settings = () => several('KEY=VALUE', 'override an option of the config; repeat for more')

export const toggle = (description: string) => z.boolean().optional().meta({ description })

export function choice<const T extends string>(
  values: readonly [T, ...T[]],
  placeholder: string,
  description: string,
): z.ZodType<T, T> {
  const expected = values.length === 2 ? values.join(' or ') : `one of ${values.join(', ')}`
  return z
    .enum(values, {
      error: ({ input }) =>
        `expected ${expected}${typeof input === 'string' ? `, got "${input}"${didYouMean(input, values)}` : ''}`,
    })
    .meta({ placeholder, description })
}

interface NumberOptions {
  description: string
  placeholder?: string
  /** What was expected, for the message: `a number above 0 and at most 1`. */
  expected: string
  accepts: (value: number) => boolean
}

/** A number of the command line, checked as text first: `Number('')` is 0. */
export function number({ description, placeholder = 'N', expected, accepts }: NumberOptions) {
  return z
    .string({ error: `expected ${expected}` })
    .transform((typed, context) => {
      const value = Number(typed)
      if (/^\s*$/.test(typed) || !Number.isFinite(value) || !accepts(value)) {
        context.addIssue({ code: 'custom', message: `expected ${expected}, got "${typed}"`, input: typed })
        return z.NEVER
      }
      return value
    })
    .meta({ placeholder, description })
}

export function integer(description: string, { min, max = Number.MAX_SAFE_INTEGER }: { min: number; max?: number }) {
  const range =
    max < Number.MAX_SAFE_INTEGER
      ? `from ${min} to ${max}`
      : min === Number.MIN_SAFE_INTEGER
        ? ''
        : `of at least ${min}`
  return number({
    description,
    expected: `an integer ${range}`.trimEnd(),
    accepts: value => Number.isSafeInteger(value) && value >= min && value <= max,
  })
}

// ---- reading

/** Parses the command line; a {@link UsageError} lists everything that is wrong. */
export function readFlags<S extends z.ZodObject>(args: readonly string[], schema: S): z.output<S> {
  return readArguments(args, schema, { positionals: 'refuse' }).flags
}

/** Like `readFlags`, for a verb that also takes positional arguments. */
export function readArguments<S extends z.ZodObject>(
  args: readonly string[],
  schema: S,
  { positionals }: { positionals: 'refuse' | 'keep' },
): { flags: z.output<S>; positionals: string[] } {
  const options: Options = {}
  const keys = new Map<string, string>()
  for (const [key, field] of Object.entries(schema.shape)) {
    const name = flagName(key).slice(2)
    const base = baseOf(field as z.ZodType)
    keys.set(name, key)
    options[name] =
      base instanceof z.ZodBoolean ? { type: 'boolean' } : { type: 'string', multiple: base instanceof z.ZodArray }
  }
  const given = parseOptions(args, options, { positionals })
  const values = Object.fromEntries(Object.entries(given.values).map(([name, value]) => [keys.get(name)!, value]))
  const checked = schema.safeParse(values)
  if (!checked.success) throw new UsageError(checked.error.issues.map(describeIssue).join('\n'))
  return { flags: checked.data, positionals: given.positionals }
}

type Options = NonNullable<ParseArgsConfig['options']>

/** node's parseArgs, with a misspelt option answered by the one that was probably meant. */
export function parseOptions(
  args: readonly string[],
  options: Options,
  { positionals }: { positionals: 'refuse' | 'keep' } = { positionals: 'refuse' },
): { values: Readonly<Record<string, unknown>>; positionals: string[] } {
  const known = Object.keys(options)
  for (const arg of args) {
    if (arg === '--') break
    const name = arg.match(/^--([^=]+)/)?.[1]
    if (name !== undefined && !known.includes(name))
      throw new UsageError(`there is no option --${name}${didYouMean(name, known, '--')}`)
  }
  try {
    return parseArgs({ args: [...args], options, strict: true, allowPositionals: positionals === 'keep' })
  } catch (error) {
    const { message } = error as Error
    const [, word] = message.match(/^Unexpected argument '(.*?)'/s) ?? []
    const meant = known.includes('config') ? `; did you mean --config ${word}?` : ''
    throw new UsageError(word === undefined ? message : `unexpected "${word}"${meant}`, { cause: error })
  }
}

function describeIssue({ path: [key], message }: z.core.$ZodIssue): string {
  return key === undefined ? message : `${flagName(String(key))}: ${message}`
}

/** The schema below `.optional()` and `.default()`. */
function baseOf(schema: z.ZodType): z.ZodType {
  return schema instanceof z.ZodOptional || schema instanceof z.ZodDefault
    ? baseOf(schema.unwrap() as z.ZodType)
    : schema
}

// ---- help

const screenWidth = 120

/** A line for every flag, from its description: `  --top-p P   only the likeliest tokens ... (default 1)`. */
export function flagHelp(schema: z.ZodObject): string {
  const rows = Object.entries(schema.shape).map(([key, value]) => {
    const field = value as z.ZodType
    const { placeholder, description = '' } = { ...baseOf(field).meta(), ...field.meta() }
    const label = [flagName(key), ...(typeof placeholder === 'string' ? [placeholder] : [])].join(' ')
    return { label, description: `${description}${defaultOf(field)}` }
  })
  return helpRows(rows)
}

/** Labels on the left, their descriptions beside them. */
export function helpRows(rows: readonly { readonly label: string; readonly description: string }[]): string {
  const column = Math.max(...rows.map(({ label }) => label.length)) + 3
  return rows
    .map(
      ({ label, description }) => `  ${label.padEnd(column)}${wrap(description, screenWidth - column - 2, column + 2)}`,
    )
    .join('\n')
}

function defaultOf(field: z.ZodType): string {
  if (!(field instanceof z.ZodDefault)) return ''
  const value: unknown = field.def.defaultValue
  return Array.isArray(value) || typeof value === 'boolean' ? '' : ` (default ${value})`
}

function wrap(description: string, width: number, indent: number): string {
  const lines: string[] = ['']
  for (const word of description.split(' ')) {
    const line = lines.at(-1)!
    if (line !== '' && line.length + 1 + word.length > width) lines.push(word)
    else lines[lines.length - 1] = line === '' ? word : `${line} ${word}`
  }
  return lines.join(`\n${' '.repeat(indent)}`)
}

/** The arguments behind the one action that a verb has. */
export function actionFirst([action, ...rest]: string[], only: string): string[] {
  if (action === only) return rest
  throw new UsageError(
    action === undefined || action.startsWith('-') ? `expected an action: ${only}` : `unknown action "${action}"`,
  )
}
