/** The options of a config as its schema has them: for help texts, tables of the docs, and editors. */
import { z } from 'zod'
import { bare } from './resolve.js'

interface ConfigOption {
  /** By dotted path. */
  readonly name: string
  /** As it would be written; undefined where there is none. */
  readonly initial: string | undefined
  readonly description: string
  /** An option that has to be given. */
  readonly required: boolean
}

/** Every option, sections before what lies in them. */
export function configOptions(schema: z.ZodObject, prefix = ''): ConfigOption[] {
  return Object.entries(schema.shape).flatMap(([key, field]) => {
    const option = field as z.ZodType
    const name = `${prefix}${key}`
    const inner = bare(option)
    const section = inner instanceof z.ZodObject ? inner : undefined
    const { success, data } = option.safeParse(undefined)
    const own: ConfigOption = {
      name,
      initial: section || data === undefined ? undefined : written(data),
      description: option.description ?? '',
      required: !success,
    }
    return section ? [own, ...configOptions(section, `${name}.`)] : [own]
  })
}

const written = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value))

/** A table in Markdown. */
export function optionTable(schema: z.ZodObject): string {
  const rows = configOptions(schema).map(({ name, initial, description, required }) => [
    `\`${name}\``,
    initial === undefined ? (required ? 'required' : '') : `\`${initial}\``,
    description.replaceAll('|', '\\|'),
  ])
  return markdownTable(['option', 'default', ''], rows)
}

/** Cells as a table with aligned columns. */
export function markdownTable(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = head.map((cell, i) => Math.max(cell.length, ...rows.map(row => row[i]!.length)))
  const line = (cells: readonly string[], fill: string): string =>
    `| ${cells.map((cell, i) => cell.padEnd(widths[i]!, fill)).join(' | ')} |`
  const under = head.map(() => '')
  return [line(head, ' '), line(under, '-'), ...rows.map(row => line(row, ' '))].join('\n')
}

/** As a JSON Schema of what a person writes, for editors that complete and check it. */
export function configJsonSchema(schema: z.ZodObject, title: string): Record<string, unknown> {
  const { $schema, ...rest } = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' })
  const properties = rest.properties as Record<string, unknown>
  return {
    $schema,
    title,
    ...rest,
    properties: { $schema: { type: 'string', description: 'location of this schema, for editors' }, ...properties },
  }
}
