/** The YAML header of a data set's README.md. */
import { parse } from 'yaml'
import { z } from 'zod'
import { DataError } from '../errors.js'

export interface CardConfig {
  readonly name: string
  readonly isDefault: boolean
  /** Files are in this folder; empty for the whole one. */
  readonly folder: string
  /** Patterns of files by split; undefined where their names say it. */
  readonly files: readonly { readonly split: string; readonly path: string }[] | undefined
}

const name = z.union([z.string(), z.number()]).transform(String)
const paths = z.union([z.string().transform(path => [path]), z.array(z.string())])
const splitFiles = z.object({ split: name, path: paths })
const configSchema = z.object({
  config_name: name.default('default'),
  default: z.boolean().default(false),
  data_dir: z.string().default(''),
  data_files: z.union([paths, z.array(splitFiles), z.record(z.string(), paths)]).optional(),
})
const cardSchema = z.object({ configs: z.array(configSchema).default([]) })

/** The configs that a README names; none where it names none. */
export function readCard(text: string, shown: string): CardConfig[] {
  const header = text.match(/^\uFEFF?---[ \t]*\r?\n(.*?)^---[ \t]*$/ms)?.[1]
  if (header === undefined) return []
  let parsed: unknown
  try {
    parsed = parse(header)
  } catch (cause) {
    const [line] = (cause as Error).message.split('\n')
    throw new DataError(`${shown}/README.md: the header is not YAML (${line}); correct it, or give files`, { cause })
  }
  const card = cardSchema.safeParse(parsed ?? {})
  if (!card.success) {
    const [issue] = card.error.issues
    throw new DataError(
      `${shown}/README.md: ${issue!.path.join('.')}: not as a data set has it (${issue!.message}); correct it, or give files`,
    )
  }
  return card.data.configs.map(config => ({
    name: config.config_name,
    isDefault: config.default,
    folder: config.data_dir.replace(/^\.?\/+|\/+$/g, ''),
    files: config.data_files && filesOf(config.data_files),
  }))
}

function filesOf(files: NonNullable<z.output<typeof configSchema>['data_files']>): CardConfig['files'] {
  const of = (split: string, paths: readonly string[]) =>
    paths.map(path => ({ split, path: path.replace(/^\.\//, '') }))
  if (!Array.isArray(files)) return Object.entries(files).flatMap(([split, paths]) => of(split, paths))
  return files.flatMap(one => (typeof one === 'string' ? of('train', [one]) : of(one.split, one.path)))
}
