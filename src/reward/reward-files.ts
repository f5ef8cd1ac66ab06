/** Files and models of rewards: a change of one of them is another reward. */
import { readFile, stat } from 'node:fs/promises'
import { dirname, extname, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { z } from 'zod'
import { readConfigFile } from '../files/index.js'

export interface RewardFiles {
  /** The file itself, the modules it names, and everything that they import by a path; absolute, in order. */
  readonly files: readonly string[]
  /** Directories of reward models. */
  readonly models: readonly string[]
}

const sourcesSchema = z.looseObject({
  sources: z
    .record(
      z.string(),
      z.looseObject({ file: z.string().optional(), path: z.string().optional(), caFile: z.string().optional() }),
    )
    .optional(),
})

/**
 * Modules are read and not run: an import whose path is computed is not found, nor are packages.
 *
 * @example
 * const { files, models } = await rewardFiles('rewards.yaml')
 */
export async function rewardFiles(file: string): Promise<RewardFiles> {
  const main = resolve(file)
  if (!/\.(ya?ml|json)$/i.test(main)) return { files: await withImports([main]), models: [] }
  const { sources = {} } = sourcesSchema.catch({}).parse(await readConfigFile(main))
  const named = (name: 'file' | 'path' | 'caFile'): string[] =>
    Object.values(sources).flatMap(source => (source[name] === undefined ? [] : [resolve(dirname(main), source[name])]))
  const modules = await withImports(named('file'))
  return { files: [...new Set([main, ...modules, ...named('caFile')])], models: [...new Set(named('path'))] }
}

/** Modules with what they import, and what those import. */
async function withImports(modules: readonly string[]): Promise<string[]> {
  const found = new Set<string>()
  const waiting = [...modules]
  for (let file = waiting.pop(); file !== undefined; file = waiting.pop()) {
    if (found.has(file)) continue
    found.add(file)
    if (!/^\.[cm]?[jt]sx?$/.test(extname(file))) continue
    const text = await readFile(file, 'utf8').catch(() => '')
    for (const path of importedPaths(text)) {
      const target = await moduleAt(resolve(dirname(file), path))
      if (target !== undefined) waiting.push(target)
    }
  }
  return [...found].sort((a, b) => (a === modules[0] ? -1 : b === modules[0] ? 1 : a < b ? -1 : 1))
}

/** `import`, `export from`, `import()`, `require()`, and files that lie beside the module: `new URL('words.txt', import.meta.url)`. */
const imports = [
  /\b(?:from|import)\s*(['"])([^'"\n]+)\1/g,
  /\b(?:import|require|resolve)\s*\(\s*(['"`])([^'"`\n]+)\1/g,
  /\bnew\s+URL\s*\(\s*(['"`])([^'"`\n]+)\1\s*,\s*import\.meta\.url/g,
]

function importedPaths(text: string): string[] {
  const specifiers = imports.flatMap(pattern => [...text.matchAll(pattern)].map(match => match[2]!))
  return specifiers.flatMap(one => {
    if (one.startsWith('file:')) return [fileURLToPath(one)]
    // A bare name is a package, but for a file beside the module.
    return /^(\.{1,2})?\//.test(one) || text.includes(`URL('${one}'`) || text.includes(`URL("${one}"`) ? [one] : []
  })
}

const endings = ['', '.ts', '.mts', '.cts', '.js', '.mjs', '.cjs', '.json', '.tsx', '.jsx']

/** The file that a path in an import stands for: endings may be left out, and that of a TypeScript file may be written `.js`. */
async function moduleAt(path: string): Promise<string | undefined> {
  const typed = path.replace(/\.([cm]?)js$/, '.$1ts')
  const inside = endings.slice(1).map(ending => `${path}/index${ending}`)
  for (const candidate of [...endings.map(ending => path + ending), typed, ...inside])
    if ((await stat(candidate).catch(() => undefined))?.isFile()) return candidate
  return undefined
}
