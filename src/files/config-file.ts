/** Configs as people write them: YAML, JSON, or a TypeScript or JavaScript module whose default export it is. */
import { readFile } from 'node:fs/promises'
import { extname, resolve } from 'node:path'
import { parseDocument } from 'yaml'
import { InputError } from '../errors/index.js'

const modules = new Set(['.ts', '.mts', '.js', '.mjs'])

/**
 * What a config file says, unchecked: a schema has the next word. A module runs with all that this process may do, so only
 * one's own should be given.
 *
 * @example
 * const config = await readConfigFile('experience.yaml')
 */
export async function readConfigFile(file: string): Promise<unknown> {
  const kind = extname(file)
  if (modules.has(kind)) return readModule(file)
  if (kind !== '.yaml' && kind !== '.yml' && kind !== '.json')
    throw new InputError(`${file}: expected a file that ends in .yaml, .yml, .json, .ts, .mts, .js or .mjs`)
  const text = await readFile(file, 'utf8').catch((cause: NodeJS.ErrnoException) => {
    throw new InputError(`${file}: ${cause.code === 'ENOENT' ? 'there is no such file' : cause.message}`, { cause })
  })
  // JSON is YAML too, and its errors then have lines.
  const document = parseDocument(text)
  const [problem] = document.errors
  if (problem) {
    const at = problem.linePos?.[0]
    const [first] = problem.message.split('\n')
    throw new InputError(
      `${file}${at ? `, line ${at.line}, column ${at.col}` : ''}: ${first!.replace(/ at line.*/, '')}`,
    )
  }
  return document.toJS({ maxAliasCount: 100 }) as unknown
}

async function readModule(file: string): Promise<unknown> {
  const { createJiti } = await import('jiti')
  const jiti = createJiti(import.meta.url, { interopDefault: false })
  const loaded = (await jiti.import(resolve(file)).catch((cause: unknown) => {
    const message = cause instanceof Error ? cause.message : String(cause)
    throw new InputError(`${file}: the module cannot be loaded: ${message.split('\n')[0]}`, { cause })
  })) as { default?: unknown }
  if (loaded.default === undefined) throw new InputError(`${file}: expected a module with a default export`)
  return loaded.default
}
