/** A config from its layers: defaults, a preset, a file, the command line. Later ones win, and each value knows where it came from. */
import { dirname, resolve } from 'node:path'
import { z } from 'zod'
import { InputError, schemaProblems } from '../../errors/index.js'

/** Nested options by name, unchecked. */
export type RawConfig = Readonly<Record<string, unknown>>

export interface ConfigLayer {
  /** For people: `grpo.yaml`, `--set`, `preset grpo`. */
  readonly origin: string
  readonly values: RawConfig
  /** Relative paths are relative to this directory. Default: the current one. */
  readonly directory?: string
}

export interface ResolvedConfig<C> {
  readonly config: C
  /** By dotted path; a value that no layer gave is a `default`. */
  readonly origins: Readonly<Record<string, string>>
}

export interface ResolveOptions {
  /** Dotted paths of options that name files or directories. */
  readonly paths?: readonly string[]
  /** Words of other systems for what is called otherwise here. */
  readonly otherWords?: Readonly<Record<string, string>>
  /** Values of path options that are words, not paths: `adapter-off`, `none`. */
  readonly words?: readonly string[]
}

/**
 * Merges the layers, lower ones first, and checks the whole by the schema. What is wrong is one error that names every option
 * with the layer it came from.
 *
 * @example
 * const { config, origins } = resolveConfig(sftSchema, [{ origin: 'sft.yaml', values }], { paths: ['model', 'output'] })
 */
export function resolveConfig<S extends z.ZodObject>(
  schema: S,
  layers: readonly ConfigLayer[],
  options: ResolveOptions = {},
): ResolvedConfig<z.output<S>> {
  const origins: Record<string, string> = {}
  let merged: Record<string, unknown> = {}
  for (const { origin, values, directory = process.cwd() } of layers) {
    const placed = withPaths(values, directory, options)
    for (const path of leaves(placed)) {
      // A section that takes the place of a value, or a value that of a section, takes its origin with it.
      for (const known of Object.keys(origins)) if (known.startsWith(`${path}.`)) delete origins[known]
      origins[path] = origin
    }
    merged = merge(merged, placed)
  }
  const result = schema.safeParse(merged)
  if (!result.success) throw new InputError(problems(schema, result.error, origins, options).join('\n'))
  const config = result.data as z.output<S>
  const all = leaves(config as RawConfig).map(path => [path, origins[path] ?? 'default'] as const)
  return { config, origins: Object.fromEntries(all) }
}

/**
 * `a.b=value` as a layer; a value is JSON where it can be, and text otherwise.
 *
 * @example
 * settingsLayer(['optimizer.lr=1e-4', 'model=tiny'])
 */
export function settingsLayer(settings: readonly string[]): ConfigLayer {
  let values: Record<string, unknown> = {}
  for (const setting of settings) {
    const at = setting.indexOf('=')
    const key = setting.slice(0, at)
    if (at < 1 || key.split('.').some(part => part === ''))
      throw new InputError(`--set: expected key=value, got "${setting}"`)
    const nested = key
      .split('.')
      .reduceRight<unknown>((value, part) => ({ [part]: value }), parsed(setting.slice(at + 1)))
    values = merge(values, nested as RawConfig)
  }
  return { origin: '--set', values }
}

/** What a config file says, as a layer; paths in it are relative to it. */
export function fileLayer(file: string, read: unknown): ConfigLayer {
  if (!isSection(read)) throw new InputError(`${file}: expected options by name, such as "model: DIR"`)
  return { origin: file, values: read, directory: dirname(resolve(file)) }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

function isSection(value: unknown): value is RawConfig {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function merge(below: RawConfig, above: RawConfig): Record<string, unknown> {
  const merged: Record<string, unknown> = { ...below }
  for (const [key, value] of Object.entries(above)) {
    const old = Object.hasOwn(merged, key) ? merged[key] : undefined
    const joined = isSection(old) && isSection(value) ? merge(old, value) : value
    // Names such as __proto__ are data here.
    Object.defineProperty(merged, key, { value: joined, enumerable: true, writable: true, configurable: true })
  }
  return merged
}

/** Dotted paths of everything that is not a section. */
function leaves(config: RawConfig, prefix = ''): string[] {
  return Object.entries(config).flatMap(([key, value]) => {
    if (value === undefined) return []
    return isSection(value) && Object.keys(value).length > 0 ? leaves(value, `${prefix}${key}.`) : [`${prefix}${key}`]
  })
}

function withPaths(values: RawConfig, directory: string, { paths = [], words = [] }: ResolveOptions): RawConfig {
  const place = (config: RawConfig, prefix: string): RawConfig =>
    Object.fromEntries(
      Object.entries(config).map(([key, value]) => {
        const path = `${prefix}${key}`
        if (paths.includes(path) && typeof value === 'string' && value !== '' && !words.includes(value))
          return [key, resolve(directory, value)]
        return [key, isSection(value) ? place(value, `${path}.`) : value]
      }),
    )
  return place(values, '')
}

function problems(
  schema: z.ZodObject,
  error: z.ZodError,
  origins: Readonly<Record<string, string>>,
  { otherWords = {} }: ResolveOptions,
): string[] {
  return error.issues.flatMap(issue => {
    const where = issue.path.join('.')
    const section = sectionAt(schema, issue.path)
    const describe = (): string | undefined => descriptionAt(schema, issue.path)
    const lines = schemaProblems(new z.ZodError([issue]), { known: Object.keys(section), otherWords, describe })
    const keys =
      issue.code === 'unrecognized_keys' ? issue.keys.map(key => (where === '' ? key : `${where}.${key}`)) : [where]
    return lines.map((line, i) => {
      const path = keys[i] ?? where
      const origin = origins[path] ?? Object.entries(origins).find(([known]) => known.startsWith(`${path}.`))?.[1]
      return origin === undefined ? line : `${origin}: ${line}`
    })
  })
}

/** The options of the section that a path leads to. */
function sectionAt(schema: z.ZodObject, path: readonly PropertyKey[]): z.ZodRawShape {
  let shape: z.ZodRawShape = schema.shape
  for (const key of path) {
    const inner = bare(shape[String(key)])
    if (!(inner instanceof z.ZodObject)) break
    shape = inner.shape
  }
  return shape
}

function descriptionAt(schema: z.ZodObject, path: readonly PropertyKey[]): string | undefined {
  const section = sectionAt(schema, path.slice(0, -1))
  return (section[String(path.at(-1))] as z.ZodType | undefined)?.description
}

/** A schema below what makes it optional. */
function bare(schema: unknown): unknown {
  let inner = schema
  while (
    inner instanceof z.ZodOptional ||
    inner instanceof z.ZodDefault ||
    inner instanceof z.ZodPrefault ||
    inner instanceof z.ZodNullable
  )
    inner = inner.unwrap()
  return inner
}
