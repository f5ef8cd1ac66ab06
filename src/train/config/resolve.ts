/**
 * Resolves a config from layers: defaults, a preset, a file, the command line. Later layers win, and each value has its origin.
 */
import { dirname, resolve } from 'node:path'
import { z } from 'zod'
import {
  ConfigError,
  InputError,
  type Problem,
  problemOf,
  refuse,
  schemaProblemList,
  valueIn,
} from '../../errors/index.js'
import { lineInConfig } from '../../files/index.js'
import { nameKind, placedName } from '../../source/index.js'
import { commonWords } from './other-words.js'

/** Nested options by name, unchecked. */
export type RawConfig = Readonly<Record<string, unknown>>

export interface ConfigLayer {
  /** For people: `grpo.yaml`, `--set`, `preset grpo`. */
  readonly origin: string
  readonly values: RawConfig
  /** Relative paths are relative to this directory. Default: the current one. */
  readonly directory?: string
  /** The line of an option in a file, from 1, where it is known. */
  readonly lineOf?: (path: string) => number | undefined
}

export interface ResolvedConfig<C> {
  readonly config: C
  /** By dotted path; a value that no layer gave is a `default`. */
  readonly origins: Readonly<Record<string, string>>
}

export interface ResolveOptions {
  /** Dotted paths of options that name files or directories. */
  readonly paths?: readonly string[]
  /** Names of options in other systems, in addition to the common ones. */
  readonly otherWords?: Readonly<Record<string, string>>
  /** Values of path options that are words, not paths: `adapter-off`, `none`. */
  readonly words?: readonly string[]
}

/**
 * Merges the layers, lower ones first, and checks the result with the schema. One error lists every wrong option with its layer.
 */
export function resolveConfig<S extends z.ZodObject>(
  schema: S,
  layers: readonly ConfigLayer[],
  options: ResolveOptions = {},
): ResolvedConfig<z.output<S>> {
  // Without a prototype: a config may have an option __proto__, which is to be refused by its name.
  const origins: Record<string, string> = Object.create(null)
  let merged: Record<string, unknown> = sectionDefaults(schema)
  for (const { origin, values, directory = process.cwd() } of layers) {
    const given = withPaths(values, directory, options)
    for (const path of leaves(given)) {
      // An empty section does not change an existing one.
      if (isSection(at(given, path)) && isSection(at(merged, path))) continue
      // A section that replaces a value, or a value that replaces a section, brings its origin.
      for (const known of Object.keys(origins)) if (known.startsWith(`${path}.`)) delete origins[known]
      origins[path] = origin
      const replaced = alternativeTo(path)
      if (replaced === undefined || at(given, replaced) !== undefined) continue
      merged = without(merged, replaced.split('.'))
      delete origins[replaced]
    }
    merged = merge(merged, given)
  }
  const result = schema.safeParse(merged)
  if (!result.success) {
    // A missing option is reported for the file.
    const file = layers.findLast(layer => layer.directory !== undefined)?.origin
    throw new ConfigError(problems(schema, result.error, { merged, origins, options, file, layers }))
  }
  const config = result.data as z.output<S>
  const impossible = valueProblems(config as RawConfig, options)
  if (impossible.length > 0) throw configError(impossible, origins, layers)
  const all = leaves(config as RawConfig).map(path => [path, origins[path] ?? 'default'] as const)
  return { config, origins: Object.fromEntries(all) }
}

/** Prefixes a problem that starts with an option with the layer of that option, if known. */
export function withOrigin(problem: string, origins: Readonly<Record<string, string>>): string {
  const option = problem.match(/^[\w.]+(?=: )/)?.[0]
  const origin = option === undefined ? undefined : originOf(option, origins)
  return origin === undefined || origin === 'default' ? problem : `${origin}: ${problem}`
}

/** Problems of a config that begin with an option, with the layers of the options. */
export function configError(
  problems: readonly string[],
  origins: Readonly<Record<string, string>>,
  layers: readonly ConfigLayer[] = [],
): ConfigError {
  const found = problems.map((problem): Problem => {
    const option = problem.match(/^[\w.]+(?=: )/)?.[0]
    const origin = option === undefined ? undefined : originOf(option, origins)
    return { ...problemOf(problem), ...placeOf(origin === 'default' ? undefined : origin, option, layers) }
  })
  return new ConfigError(found)
}

/** The file or flag that gave an option, and its line where the file is known. */
function placeOf(origin: string | undefined, path: string | undefined, layers: readonly ConfigLayer[]) {
  if (origin === undefined) return {}
  const line = path === undefined ? undefined : layers.find(layer => layer.origin === origin)?.lineOf?.(path)
  return { file: origin, ...(line === undefined ? {} : { line }) }
}

/** `a.b=value` as a layer; a value is JSON where it can be, and text otherwise. */
export function settingsLayer(settings: readonly string[]): ConfigLayer {
  const entries = settings.map((setting): [string[], unknown] => {
    const at = setting.indexOf('=')
    const path = setting.slice(0, at).split('.')
    if (at < 1 || path.some(part => part === '')) throw new InputError(`--set: expected key=value, got "${setting}"`)
    return [path, parsed(setting.slice(at + 1))]
  })
  return { origin: '--set', values: nested(entries) }
}

/** Values by their paths as one config; later ones win. */
export function nested(entries: readonly (readonly [path: readonly string[], value: unknown])[]): RawConfig {
  return entries.reduce<RawConfig>(
    (values, [path, value]) =>
      merge(values, path.reduceRight<unknown>((inner, part) => ({ [part]: inner }), value) as RawConfig),
    {},
  )
}

/** A config file as a layer; its paths are relative to it. `$schema` is for editors. */
export function fileLayer(file: string, read: unknown): ConfigLayer {
  if (!isSection(read)) throw new InputError(`${file}: expected an object of options, such as "model: DIR"`)
  const { $schema: _, ...values } = read
  return { origin: file, values, directory: dirname(resolve(file)), lineOf: path => lineInConfig(read, path) }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

/** Options by name. What is made by a function or a class, such as a definition, is a value. */
function isSection(value: unknown): value is RawConfig {
  if (typeof value !== 'object' || value === null) return false
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null
}

function merge(below: RawConfig, above: RawConfig): Record<string, unknown> {
  const merged: Record<string, unknown> = { ...below }
  for (const [key, value] of Object.entries(above)) {
    const old = Object.hasOwn(merged, key) ? merged[key] : undefined
    const joined = isSection(old) && isSection(value) && sameKind(old, value) ? merge(old, value) : value
    // Names such as __proto__ are data here.
    Object.defineProperty(merged, key, { value: joined, enumerable: true, writable: true, configurable: true })
  }
  return merged
}

/** Options of different kinds do not merge: `{kind: adaptive}` over `{kind: fixed, coef: 0}` replaces all of it. */
function sameKind(below: RawConfig, above: RawConfig): boolean {
  return above.kind === undefined || below.kind === undefined || above.kind === below.kind
}

/** Defaults that are sections of one kind: an option of such a section changes it and needs not name its kind again. */
function sectionDefaults(schema: z.ZodObject): Record<string, unknown> {
  const defaults = Object.entries(schema.shape).flatMap(([key, field]): [string, RawConfig][] => {
    const value: unknown = field instanceof z.ZodDefault ? field.def.defaultValue : undefined
    return isSection(value) && value.kind !== undefined ? [[key, value]] : []
  })
  return Object.fromEntries(defaults)
}

/** Two options with the same meaning. A layer that sets one replaces the other of lower layers. */
const alternatives: Readonly<Record<string, string>> = { warmupSteps: 'warmupRatio', warmupRatio: 'warmupSteps' }

function alternativeTo(path: string): string | undefined {
  const start = path.lastIndexOf('.') + 1
  const other = alternatives[path.slice(start)]
  return other === undefined ? undefined : path.slice(0, start) + other
}

function without(config: RawConfig, [key, ...rest]: readonly string[]): Record<string, unknown> {
  const { [key!]: value, ...others } = config
  if (rest.length === 0) return others
  return isSection(value) ? { ...config, [key!]: without(value, rest) } : { ...config }
}

/** A value by its dotted path. */
export function at(config: object, path: string): unknown {
  return path.split('.').reduce<unknown>((value, key) => (isSection(value) ? value[key] : undefined), config)
}

/** The same config with another value there. */
export function withValue(config: RawConfig, path: string, value: unknown): RawConfig {
  const [key, ...rest] = path.split('.')
  const inner = rest.length === 0 ? value : withValue((config[key!] ?? {}) as RawConfig, rest.join('.'), value)
  return { ...config, [key!]: inner }
}

/** Dotted paths of everything that is not a section. */
function leaves(config: RawConfig, prefix = ''): string[] {
  return Object.entries(config).flatMap(([key, value]) => {
    if (value === undefined) return []
    return isSection(value) && Object.keys(value).length > 0 ? leaves(value, `${prefix}${key}.`) : [`${prefix}${key}`]
  })
}

/** Paths in lists count too: `data` and `data.path` are those of a list of files and of sources. */
function withPaths(values: RawConfig, directory: string, { paths = [], words = [] }: ResolveOptions): RawConfig {
  const place = (value: unknown, path: string): unknown => {
    if (Array.isArray(value)) return value.map(one => place(one, path))
    if (isSection(value)) return placeAll(value, `${path}.`)
    const isPath = paths.includes(path) && typeof value === 'string' && value !== '' && !words.includes(value)
    return isPath ? placed(value, path, directory) : value
  }
  const placeAll = (config: RawConfig, prefix: string): RawConfig =>
    Object.fromEntries(Object.entries(config).map(([key, value]) => [key, place(value, `${prefix}${key}`)]))
  return placeAll(values, '')
}

/** Options of models and data may name them by an id of the Hub. */
function placed(value: string, option: string, directory: string): string {
  const kind = nameKind(option)
  // A path with a NUL character is refused later, by its option.
  if (kind === undefined || value.includes('\0')) return resolve(directory, value)
  try {
    return placedName(value, kind, directory)
  } catch (error) {
    return refuse(option, error)
  }
}

/** Values that no option may have: a path with a NUL character, a number that becomes 0 or infinite in float32. */
function valueProblems(config: RawConfig, { paths = [] }: ResolveOptions): string[] {
  const wrongIn = (value: unknown, path: string): string[] => {
    if (Array.isArray(value)) return value.flatMap(one => wrongIn(one, path))
    if (isSection(value)) return Object.entries(value).flatMap(([key, inner]) => wrongIn(inner, `${path}.${key}`))
    if (typeof value === 'string' && paths.includes(path) && value.includes('\0'))
      return [`${path}: expected a path without NUL characters, got ${JSON.stringify(value)}`]
    if (typeof value === 'number' && !isFloat32(value))
      return [
        `${path}: expected a number in the range of float32 (up to 3.4e38, and not closer to 0 than 1e-45), got ${value}`,
      ]
    return []
  }
  return Object.entries(config).flatMap(([key, value]) => wrongIn(value, key))
}

function isFloat32(value: number): boolean {
  const rounded = Math.fround(value)
  return Number.isFinite(rounded) && (rounded !== 0 || value === 0)
}

interface ProblemContext {
  readonly merged: RawConfig
  readonly origins: Readonly<Record<string, string>>
  readonly options: ResolveOptions
  readonly file: string | undefined
  readonly layers: readonly ConfigLayer[]
}

function problems(schema: z.ZodObject, error: z.ZodError, context: ProblemContext): Problem[] {
  const { merged, origins, options, file, layers } = context
  const otherWords = { ...commonWords, ...options.otherWords }
  const valueAt = valueIn(merged)
  const forms = (issue: z.core.$ZodIssue): z.core.$ZodIssue[] =>
    issue.code === 'invalid_union' && valueAt(issue.path) === undefined
      ? [{ code: 'invalid_type', expected: 'string', path: issue.path, message: 'received undefined' }]
      : unfolded(issue)
  return error.issues.flatMap(forms).flatMap(issue => {
    const where = issue.path.join('.')
    const describe = (): string | undefined => descriptionAt(schema, issue.path)
    const known = Object.keys(sectionAt(schema, issue.path))
    const found = schemaProblemList(new z.ZodError([issue]), { known, otherWords, describe, valueAt })
    return found.map(problem => {
      const path = problem.path ?? where
      return { ...problem, ...placeOf(originOf(path, origins) ?? file, path, layers) }
    })
  })
}

/** Of an option, of what lies in it, or of the section or list that it lies in. */
function originOf(path: string, origins: Readonly<Record<string, string>>): string | undefined {
  for (let at = path; at !== ''; at = at.slice(0, Math.max(0, at.lastIndexOf('.')))) {
    const own = Object.hasOwn(origins, at) ? origins[at] : undefined
    const found = own ?? Object.entries(origins).find(([known]) => known.startsWith(`${at}.`))?.[1]
    if (found !== undefined) return found
  }
  return undefined
}

/** For a value with several forms: if it has the kind of one, the problem inside it; otherwise the list of forms. */
function unfolded(issue: z.core.$ZodIssue): z.core.$ZodIssue[] {
  if (issue.code !== 'invalid_union') return [issue]
  const { path } = issue
  if (issue.discriminator !== undefined && 'options' in issue && issue.options)
    return [{ code: 'invalid_value', values: [...issue.options], path, message: '' }]
  const forms: readonly z.core.$ZodIssue[][] = issue.errors
  const ofAnotherKind = (one: z.core.$ZodIssue): boolean => one.code === 'invalid_type' && one.path.length === 0
  const form = forms.find(issues => !issues.some(ofAnotherKind))
  const [only] = form?.length === 1 ? form : []
  // One word of several forms says less than the union itself.
  if (only?.code === 'invalid_value' && only.path.length === 0 && issue.message.startsWith('expected '))
    return [{ code: 'custom', path, message: issue.message }]
  if (form) return form.map(one => ({ ...one, path: [...path, ...one.path] })).flatMap(unfolded)
  const words = { string: 'text', object: 'an object of options', array: 'a list' } as Readonly<Record<string, string>>
  const kinds = forms.flatMap(issues => issues.flatMap(one => (one.code === 'invalid_type' ? [one.expected] : [])))
  return [{ code: 'custom', path, message: `expected ${kinds.map(kind => words[kind] ?? kind).join(' or ')}` }]
}

/** The schema of an option, or undefined where there is none of that path. */
export function fieldAt(schema: z.ZodObject, path: readonly string[]): z.ZodType | undefined {
  let shape: z.ZodRawShape | undefined = schema.shape
  for (const [place, key] of path.entries()) {
    if (!shape || !Object.hasOwn(shape, key)) return undefined
    const field: z.ZodType = shape[key] as z.ZodType
    if (place === path.length - 1) return field
    const inner = bare(field)
    // Options of your own loss or estimator have any names.
    if (inner instanceof z.ZodRecord) return inner.valueType as z.ZodType
    shape = shapeOf(inner)
  }
  return undefined
}

/** The options of the section that a path leads to. */
function sectionAt(schema: z.ZodObject, path: readonly PropertyKey[]): z.ZodRawShape {
  let shape: z.ZodRawShape = schema.shape
  for (const key of path) {
    // A place in a list is of the same kind as the list's other places.
    if (typeof key === 'number') continue
    const inner = shapeOf(shape[String(key)])
    if (!inner) break
    shape = inner
  }
  return shape
}

/** The options of a section, or of every form of a value that is one. */
export function shapeOf(schema: unknown): z.ZodRawShape | undefined {
  const inner = bare(schema)
  if (inner instanceof z.ZodObject) return inner.shape
  if (inner instanceof z.ZodArray) return shapeOf(inner.element)
  if (!(inner instanceof z.ZodUnion)) return undefined
  const shapes = inner.options.map(shapeOf).filter(shape => shape !== undefined)
  return shapes.length === 0 ? undefined : (Object.assign({}, ...shapes.reverse()) as z.ZodRawShape)
}

function descriptionAt(schema: z.ZodObject, path: readonly PropertyKey[]): string | undefined {
  const section = sectionAt(schema, path.slice(0, -1))
  return (section[String(path.at(-1))] as z.ZodType | undefined)?.description
}

/** A schema below what makes it optional. */
export function bare(schema: unknown): unknown {
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
