/**
 * Options of a config as flags: `--max-new-tokens 256`, `--optimizer.lr 1e-5`, `--data a.jsonl --data b.jsonl`. The schema of the
 * config says which there are and what each takes.
 */
import { existsSync } from 'node:fs'
import { z } from 'zod'
import { nearest } from '../errors/index.js'
import {
  bare,
  type ConfigLayer,
  commonWords,
  configOptions,
  fieldAt,
  nested,
  type ResolveOptions,
  shapeOf,
} from '../train/index.js'
import { flagName, readFlags, UsageError } from './flags.js'

/** How an option of a config is typed: `--optimizer.warmup-steps` for `optimizer.warmupSteps`. */
export const optionFlag = (option: string): string => flagName(option)

interface ConfigFlags<S extends z.ZodObject> {
  /** The flags of the verb itself. */
  readonly flags: z.output<S>
  /** The options of the config; over a config file and `--set`. */
  readonly layer: ConfigLayer
}

interface ConfigOptions {
  readonly schema: z.ZodObject
  readonly options?: ResolveOptions | undefined
}

/** Reads a command line whose flags are those of a verb and the options of its config. */
export function readConfigFlags<S extends z.ZodObject>(
  args: readonly string[],
  own: S,
  config: ConfigOptions,
): ConfigFlags<S> {
  const ownNames = Object.keys(own.shape)
  const kept: string[] = []
  const given: GivenOption[] = []
  const unknown: string[] = []
  for (let i = 0; i < args.length; i++) {
    const arg = args[i]!
    const [, name, inline] = arg.match(/^--([^=]+)(?:=(.*))?$/s) ?? []
    if (arg === '--') {
      kept.push(...args.slice(i))
      break
    }
    const path = name?.split('.').map(camelCase) ?? []
    if (name === undefined) kept.push(arg)
    else if (path.length === 1 && ownNames.includes(path[0]!)) kept.push(arg.replace(`--${name}`, flagName(path[0]!)))
    else {
      const option = optionOf(config.schema, path)
      if (!option) {
        unknown.push(`there is no option --${name}${meant(name, ownNames, config)}`)
        // Its value is not an argument of the verb.
        if (inline === undefined && args[i + 1]?.startsWith('--') === false) i++
        continue
      }
      const taken = takeValue(option, inline, args[i + 1])
      given.push({ ...option, value: taken.value })
      if (taken.tookNext) i++
    }
  }
  if (unknown.length > 0) throw new UsageError(unknown.join('\n'))
  return { flags: readFlags(kept, own), layer: { origin: 'command line', values: nested(entriesOf(given)) } }
}

/** `maxNewTokens` for `max-new-tokens`, `max_new_tokens` or `maxNewTokens`. */
const camelCase = (name: string): string => name.replace(/[-_]([a-z0-9])/g, (_, letter: string) => letter.toUpperCase())

interface FoundOption {
  readonly path: readonly string[]
  readonly field: z.ZodType
  /** `off` for `--no-shuffle`. */
  readonly negated: boolean
}

interface GivenOption extends FoundOption {
  readonly value: unknown
}

function optionOf(schema: z.ZodObject, path: readonly string[]): FoundOption | undefined {
  const field = fieldAt(schema, path)
  if (field) return { path, field, negated: false }
  const [, rest] = path.at(-1)?.match(/^no([A-Z].*)$/) ?? []
  if (rest === undefined) return undefined
  const positive = [...path.slice(0, -1), rest[0]!.toLowerCase() + rest.slice(1)]
  const negated = fieldAt(schema, positive)
  return bare(negated) instanceof z.ZodBoolean ? { path: positive, field: negated!, negated: true } : undefined
}

/** The value of a flag: after `=`, the next argument, or none for a switch and a section. */
function takeValue(
  { path, field, negated }: FoundOption,
  inline: string | undefined,
  next: string | undefined,
): { value: unknown; tookNext: boolean } {
  const flag = optionFlag(path.join('.'))
  if (negated) {
    if (inline !== undefined) throw new UsageError(`--no-${flag.slice(2)}: takes no value`)
    return { value: false, tookNext: false }
  }
  const inner = bare(field)
  const optional =
    inner instanceof z.ZodBoolean ? /^(true|false)$/ : inner instanceof z.ZodObject ? /^(true$|\{)/ : undefined
  if (optional && inline === undefined && !(next !== undefined && optional.test(next)))
    return { value: inner instanceof z.ZodBoolean ? true : {}, tookNext: false }
  const text = inline ?? next
  if (text === undefined || (inline === undefined && text.startsWith('--')))
    throw new UsageError(`${flag}: expected a value: ${field.description ?? 'an option of the config'}`)
  const value = inner instanceof z.ZodObject && text === 'true' ? {} : typedValue(field, text)
  return { value, tookNext: inline === undefined }
}

/** A text of the command line as the schema of its option takes it. */
function typedValue(field: unknown, text: string): unknown {
  if (text === 'null' && field instanceof z.ZodType && field.safeParse(null).success) return null
  const inner = bare(field)
  if (inner instanceof z.ZodString || inner instanceof z.ZodEnum || inner instanceof z.ZodLiteral) return text
  if (/^\s*[[{]/.test(text)) return json(text)
  if (inner instanceof z.ZodArray) return text.split(',').map(one => typedValue(inner.element, one.trim()))
  if (inner instanceof z.ZodTuple) return text.split(',').map((one, i) => typedValue(inner.def.items[i], one.trim()))
  if (inner instanceof z.ZodNumber) return text.trim() !== '' && Number.isFinite(Number(text)) ? Number(text) : text
  // Text, where that is one of several forms.
  if (inner instanceof z.ZodUnion && inner.options.some(one => one instanceof z.ZodString))
    return isCommaList(inner, text) ? text.split(',').map(one => one.trim()) : text
  if (inner instanceof z.ZodUnion && isCommaList(inner, text)) return text.split(',').map(one => json(one.trim()))
  return inner instanceof z.ZodCustom ? text : json(text)
}

/** `a.ts,b.ts`; not a pattern such as `{a,b}.jsonl`, and not a file with a comma in its name. */
const isCommaList = (field: z.ZodType, text: string): boolean =>
  takesList(field) && text.includes(',') && !/[{}]/.test(text) && !existsSync(text)

function json(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

/** An option that is given again is a list where it can be one; otherwise the last value counts. */
function entriesOf(given: readonly GivenOption[]): (readonly [readonly string[], unknown])[] {
  const byOption = new Map<string, GivenOption>()
  for (const one of given) {
    const key = one.path.join('.')
    const before = byOption.get(key)
    const value = before && takesList(one.field) ? [before.value, one.value].flat() : one.value
    byOption.set(key, { ...one, value })
  }
  // `--data org/name --data.split train`: the text is the path of the section.
  const sectioned = ({ path, field, value }: GivenOption): readonly [readonly string[], unknown] => {
    const inside = [...byOption.keys()].some(other => other.startsWith(`${path.join('.')}.`))
    return inside && typeof value === 'string' && shapeOf(bare(field))?.path
      ? [[...path, 'path'], value]
      : [path, value]
  }
  return [...byOption.values()].map(sectioned)
}

function takesList(field: z.ZodType): boolean {
  const inner = bare(field)
  return (
    inner instanceof z.ZodArray || (inner instanceof z.ZodUnion && inner.options.some(one => one instanceof z.ZodArray))
  )
}

/** What a flag that is not there was probably meant to be. */
function meant(name: string, own: readonly string[], { schema, options = {} }: ConfigOptions): string {
  const typed = camelCase(name)
  const words: Readonly<Record<string, string>> = { ...commonWords, ...options.otherWords }
  const names = [...own, ...configOptions(schema).map(option => option.name)]
  const called = (word: string): string => {
    const [, section, key] = words[word]!.match(/^(\w+): \{ (\w+) \}$/) ?? []
    return section === undefined ? `; use ${words[word]}` : `; did you mean ${optionFlag(`${section}.${key}`)}?`
  }
  if (Object.hasOwn(words, typed)) return called(typed)
  const inside = names.filter(option => option.endsWith(`.${typed}`)).map(optionFlag)
  if (inside.length > 0) return `; did you mean ${inside.slice(0, 3).join(' or ')}?`
  const near = nearest(typed, [...names, ...Object.keys(words)])
  if (near === undefined) return ''
  return names.includes(near) ? `; did you mean ${optionFlag(near)}?` : called(near)
}
