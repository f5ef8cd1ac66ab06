/** Configs as people write them: YAML, JSON, or a TypeScript or JavaScript module whose default export it is. */
import { readFile } from 'node:fs/promises'
import { extname, resolve } from 'node:path'
import { InputError, systemProblem } from '../errors/index.js'
import { importModule } from './import-module.js'

/** Of configs that have lines: the line of a value. */
const finders = new WeakMap<object, (path: readonly string[]) => number | undefined>()

/** The line, from 1, of an option in a config as {@link readConfigFile} gave it; undefined where there is none. */
export function lineInConfig(config: object, option: string): number | undefined {
  return finders.get(config)?.(option.split('.'))
}

const modules = new Set(['.ts', '.mts', '.js', '.mjs'])

/** The unchecked contents of a config file. A module runs with all rights of this process, so only load trusted ones. */
export async function readConfigFile(file: string): Promise<unknown> {
  if (file.includes('\0')) throw new InputError(`${JSON.stringify(file)}: expected a path without NUL characters`)
  const kind = extname(file)
  const isModule = modules.has(kind)
  if (!isModule && kind !== '.yaml' && kind !== '.yml' && kind !== '.json')
    throw new InputError(`${file}: expected a file that ends in .yaml, .yml, .json, .ts, .mts, .js or .mjs`)
  const value = isModule ? await readModule(file) : await readYaml(file)
  refuseEndless(file, value)
  return value
}

async function readYaml(file: string): Promise<unknown> {
  const text = await readText(file)
  const { parseDocument } = await import('yaml')
  try {
    // JSON is YAML too, and its errors then have lines.
    const document = parseDocument(text)
    const [problem] = document.errors
    if (problem) {
      if (problem.message.includes('call stack')) throw nestedTooDeeply(file, problem)
      const at = problem.linePos?.[0]
      const [first] = problem.message.split('\n')
      throw new InputError(
        `${file}${at ? `, line ${at.line}, column ${at.col}` : ''}: ${first!.replace(/ at line.*/, '')}`,
      )
    }
    const value = document.toJS({ maxAliasCount: 100 }) as unknown
    if (typeof value === 'object' && value !== null)
      finders.set(value, path => {
        const node = document.getIn(path, true) as { range?: readonly number[] } | undefined
        const start = node?.range?.[0]
        return start === undefined ? undefined : text.slice(0, start).split('\n').length
      })
    return value
  } catch (cause) {
    // Too many aliases of aliases are a ReferenceError of the parser, too many brackets end its stack.
    if (cause instanceof ReferenceError)
      throw new InputError(`${file}: its YAML aliases expand to too much; write the values out`, { cause })
    if (cause instanceof RangeError) throw nestedTooDeeply(file, cause)
    throw cause
  }
}

async function readText(file: string): Promise<string> {
  return readFile(file, 'utf8').catch((cause: NodeJS.ErrnoException) => {
    const why = cause.code === 'ENOENT' ? 'there is no such file' : systemProblem(cause, 'read')
    throw new InputError(`${file}: ${why}`, { cause })
  })
}

async function readModule(file: string): Promise<unknown> {
  await readText(file)
  const loaded = await importModule(resolve(file), {}).catch((cause: unknown) => {
    const message = cause instanceof Error ? cause.message : String(cause)
    throw new InputError(`${file}: the module cannot be loaded: ${message.split('\n')[0]}`, { cause })
  })
  if (loaded.default === undefined) throw new InputError(`${file}: expected a module with a default export`)
  return loaded.default
}

/** Far deeper than any config. */
const deepest = 50

/** A value that contains itself, by an alias or in a module, would recurse forever. */
function refuseEndless(file: string, value: unknown, depth = 0): void {
  if (typeof value !== 'object' || value === null) return
  // What a module makes by a function or a class is not looked into.
  if (!Array.isArray(value) && ![Object.prototype, null].includes(Object.getPrototypeOf(value) as object | null)) return
  if (depth > deepest) throw nestedTooDeeply(file)
  for (const inner of Object.values(value)) refuseEndless(file, inner, depth + 1)
}

function nestedTooDeeply(file: string, cause?: unknown): InputError {
  return new InputError(`${file}: nested more than ${deepest} levels deep, or a value contains itself`, { cause })
}
