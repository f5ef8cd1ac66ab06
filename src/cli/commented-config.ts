/** A config as YAML with a comment for every option, from its schema. */
import { stringify } from 'yaml'
import { z } from 'zod'
import { bare, type RawConfig } from '../train/index.js'

interface CommentedConfig {
  readonly schema: z.ZodObject
  /** Values that are written in place of defaults. */
  readonly values: RawConfig
  /** What a preset sets: the defaults of this config. */
  readonly preset: RawConfig
  /** Options that most configs set, by dotted path. */
  readonly common: readonly string[]
}

/**
 * Options that have to be given come first, then the common ones, with their defaults; all others are commented out. `#` directly
 * before a name marks an option, `# ` a comment.
 */
export function commentedConfig({ schema, values, preset, common }: CommentedConfig): string {
  const given = (name: string): boolean => Object.hasOwn(values, name)
  const names = Object.keys(schema.shape)
  const first = common.map(path => path.split('.')[0]!)
  const required = names.filter(name => given(name) || !fieldOf(schema, name).safeParse(undefined).success)
  const usual = [...new Set(first)].filter(name => names.includes(name) && !required.includes(name))
  const rest = names.filter(name => !required.includes(name) && !usual.includes(name))
  const option = (name: string): string =>
    lines(name, fieldOf(schema, name), {
      value: values[name],
      preset: preset[name],
      common: inside(common, name),
    }).join('\n')
  return [
    ...required.map(option),
    ...usual.map(option),
    '# ---- All other options, with their defaults. Remove the # before a name to use the option.',
    ...rest.map(option),
  ].join('\n\n')
}

const fieldOf = (schema: z.ZodObject, name: string): z.ZodType => schema.shape[name] as z.ZodType

/** The common options of a section; undefined where the option itself is not common. */
function inside(common: readonly string[], name: string): readonly string[] | undefined {
  const own = common.filter(path => path === name || path.startsWith(`${name}.`))
  return own.length === 0 ? undefined : own.map(path => path.slice(name.length + 1))
}

interface Place {
  readonly value: unknown
  readonly preset: unknown
  /** Common options in it; undefined: it is commented out. */
  readonly common: readonly string[] | undefined
}

function lines(name: string, field: z.ZodType, { value, preset, common }: Place): string[] {
  const inner = bare(field)
  const initial = value ?? preset ?? field.safeParse(undefined).data
  const comment = wrapped(field.description ?? '').map(line => `# ${line}`)
  const mark = value === undefined && (common === undefined || initial === undefined) ? '#' : ''
  if (!(inner instanceof z.ZodObject))
    return [...comment, `${mark}${name}:${initial === undefined ? '' : ` ${flow(initial)}`}`]
  const section = (initial ?? {}) as RawConfig
  const nested = Object.entries(inner.shape).flatMap(([key, one]) =>
    lines(key, one as z.ZodType, {
      value: (value as RawConfig | undefined)?.[key],
      preset: section[key],
      common: common && inside(common, key),
    }),
  )
  return [...comment, `${mark}${name}:`, ...nested.map(line => indented(line, mark))]
}

/** In a section that is commented out, every line is. */
function indented(line: string, mark: string): string {
  if (mark === '') return `  ${line}`
  return line.startsWith('# ') ? `#   ${line}` : `#  ${line.replace(/^#/, '')}`
}

/** On one line. */
function flow(value: unknown): string {
  return stringify(value, { lineWidth: 0, blockQuote: false, collectionStyle: 'flow' }).trim()
}

function wrapped(text: string): string[] {
  const found: string[] = []
  for (const word of text.split(' ').filter(one => one !== '')) {
    const line = found.at(-1)
    if (line === undefined || line.length + 1 + word.length > 110) found.push(word)
    else found[found.length - 1] = `${line} ${word}`
  }
  return found
}
