/**
 * The options of a schema as TypeScript interfaces: each with its description and default, and with the very type that the schema gives
 * it. Options for which the functions of the package also take live things stand apart, so that these can extend the rest: editors lose
 * comments on the way through `Omit`.
 */
import { z } from 'zod'
import { bare } from '../../src/train/config/resolve.js'

export interface InterfaceOptions {
  /** `Sft` makes `SftInput` and `SftPlain` of `sftSchema`. */
  readonly name: string
  readonly schema: z.ZodObject
  readonly about: string
  /** The module of the schema. */
  readonly from: string
  /** Dotted options that are left out of the plain interfaces. */
  readonly live: readonly string[]
}

export const schemaName = (name: string): string => `${name[0]!.toLowerCase()}${name.slice(1)}Schema`

/** Interfaces of schemas and of their sections; equal sections have one. */
export function optionInterfaces(entries: readonly InterfaceOptions[]): string {
  const known = new Map<string, string>()
  return entries
    .flatMap(({ name, schema, about, live }) =>
      interfaces({ name, below: '', schema, about, live, type: `z.input<typeof ${schemaName(name)}>`, known }),
    )
    .join('\n')
}

interface Section extends Omit<InterfaceOptions, 'from'> {
  /** `CriticOptimizer`: where the section is. */
  readonly below: string
  /** An expression for its type. */
  readonly type: string
  /** The interfaces of sections that were made, by their texts. */
  readonly known: Map<string, string>
}

function interfaces({ name, below, schema, about, live, type, known }: Section): string[] {
  const [written, input, plain] = [`${name}Written${below}`, `${name}Input${below}`, `${name}Plain${below}`]
  const inner: string[] = []
  const fields = Object.entries(schema.shape).map(([key, field]) => {
    const option = field as z.ZodType
    const { success, data } = option.safeParse(undefined)
    const section = bare(option)
    const given = section instanceof z.ZodObject || data === undefined ? undefined : JSON.stringify(data)
    const comment = docComment(option.description ?? '', given, '  ')
    const own = `${written}['${key}']`
    const isLive = live.includes(key)
    if (!(section instanceof z.ZodObject)) return { isLive, text: `${comment}  ${key}${success ? '?' : ''}: ${own}` }
    const deeper = `${below}${key[0]!.toUpperCase()}${key.slice(1)}`
    const liveBelow = live.filter(one => one.startsWith(`${key}.`)).map(one => one.slice(key.length + 1))
    const shared = { name, schema: section, about: option.description ?? '', live: liveBelow, known }
    const made = interfaces({ ...shared, below: deeper, type: `NonNullable<${own}>` })
    const same = made.join('').replaceAll(new RegExp(`\\b${name}\\w*${deeper}\\b|NonNullable<.*>`, 'g'), '')
    const before = known.get(same)
    if (before === undefined) inner.push(...made)
    known.set(same, before ?? `${name}Input${deeper}`)
    return {
      isLive,
      text: `${comment}  ${key}${success ? '?' : ''}: ${known.get(same)}${success ? ' | undefined' : ''}`,
    }
  })
  const body = (which: typeof fields): string => `{\n${which.map(({ text }) => text).join('\n')}\n}\n`
  const rest = fields.filter(({ isLive }) => !isLive)
  const alive = fields.filter(({ isLive }) => isLive)
  const head = `type ${written} = ${type}\n`
  const comment = docComment(about, undefined, '')
  if (alive.length === 0) return [`${head}${comment}export interface ${input} ${body(fields)}`, ...inner]
  const first = `${head}${comment}export interface ${plain} ${body(rest)}`
  return [first, `${comment}export interface ${input} extends ${plain} ${body(alive)}`, ...inner]
}

function docComment(description: string, given: string | undefined, indent: string): string {
  const text = description.replaceAll('*/', '*\\/')
  return `${indent}/** ${text}${given === undefined ? '' : ` @defaultValue \`${given}\``} */\n`
}
