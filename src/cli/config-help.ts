/** Help of options as flags: those that most commands set, or all. */
import { z } from 'zod'
import { bare, configOptions, fieldAt, type RawConfig, type ResolveOptions } from '../train/index.js'
import { optionFlag } from './config-flags.js'
import { type Required, requiredOptions } from './config-layers.js'
import { helpRows } from './flags.js'

interface ConfigHelp extends Required {
  readonly verb: string
  readonly options?: ResolveOptions
  /** Options that most commands set, beside those that have to be given. */
  readonly common: readonly string[]
  /** What the verb sets in place of defaults. */
  readonly preset?: RawConfig
  /** `--all` among them: every option. */
  readonly args: readonly string[]
  /** The page that explains them. */
  readonly page: string
}

/** `--model PATH --data PATH --output PATH`. */
export function requiredFlags(help: Pick<ConfigHelp, 'schema' | 'unless' | 'options'>): string {
  return requiredOptions(help)
    .map(({ name }) => label(help, name))
    .join(' ')
}

export function configHelp(help: ConfigHelp): string {
  const { verb, schema, common, args, page } = help
  const required = requiredOptions(help).map(({ name }) => name)
  const all = args.includes('--all')
  const names = all ? configOptions(schema).map(({ name }) => name) : [...required, ...common]
  const more = all
    ? `${page} explains them; \`whetstone schema\` prints a JSON Schema.`
    : `\`whetstone ${verb} --help --all\` lists all of them, and ${page} explains them.`
  return `${helpRows(names.map(name => ({ label: label(help, name), description: described(help, name) })))}

Every option of the config is a flag, with dots for sections.
${more}`
}

function label({ schema, options }: Pick<ConfigHelp, 'schema' | 'options'>, name: string): string {
  const field = bare(fieldAt(schema, name.split('.')))
  const placeholder = options?.paths?.includes(name) ? 'PATH' : placeholderOf(field)
  return [optionFlag(name), ...(placeholder === undefined ? [] : [placeholder])].join(' ')
}

function placeholderOf(field: unknown): string | undefined {
  if (field instanceof z.ZodBoolean || field instanceof z.ZodObject) return undefined
  if (field instanceof z.ZodNumber) return 'N'
  if (field instanceof z.ZodEnum && field.options.length <= 4) return field.options.join('|')
  if (field instanceof z.ZodString) return 'TEXT'
  return field instanceof z.ZodArray || field instanceof z.ZodTuple ? 'A,B' : 'VALUE'
}

function described({ schema, preset = {} }: ConfigHelp, name: string): string {
  const field = fieldAt(schema, name.split('.'))!
  const inner = bare(field)
  const set = name.split('.').reduce<unknown>((value, key) => (value as RawConfig | undefined)?.[key], preset)
  const initial: unknown = set ?? field.safeParse(undefined).data
  const shown = initial === undefined || inner instanceof z.ZodObject ? '' : ` (default ${text(initial)})`
  return `${field.description ?? ''}${shown}`
}

const text = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value))
