/** Modules of a user: TypeScript or JavaScript, as it is. */
import { readFile, stat } from 'node:fs/promises'
import { basename, dirname, extname, resolve } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'

export type ModuleExports = Readonly<Record<string, unknown>>

/**
 * What a module exports. `own` are the modules of this package that it may import: they are found from wherever the module lies,
 * and they are these very ones. A file that was changed is read again.
 */
export async function importModule(
  file: string,
  own: Readonly<Record<string, ModuleExports>> | undefined,
): Promise<ModuleExports> {
  // Node loads it faster, where there is nothing to compile and nothing of ours to find.
  if (file.endsWith('.mjs') && !own) return import(pathToFileURL(file).href)
  const { createJiti } = await import('jiti')
  const jiti = createJiti(import.meta.url, {
    // No compiled copy of the file stays behind.
    fsCache: false,
    moduleCache: false,
    interopDefault: false,
    virtualModules: { ...own },
  })
  return jiti.import<ModuleExports>(file).catch((error: unknown) => {
    throw inWords(error)
  })
}

/** What jiti says of a syntax error, or of an import that is not there, takes several lines. */
function inWords(error: unknown): unknown {
  if (!(error instanceof Error)) return error
  const [, what, path, line] =
    /^ParseError: (.*?)\s*\n\s*(.*?):(\d+):\d+$/.exec(error.message) ??
    /^(Cannot find module .*)\nRequire stack:\n- (.*)/.exec(error.message) ??
    []
  if (what === undefined) return error
  return new Error(`${what} (${basename(path!)}${line === undefined ? '' : `:${line}`})`, { cause: error })
}

/**
 * Modules with all that they import by a path, and what those import; absolute, the first module first. Modules are read and not
 * run: an import whose path is computed is not found, nor are packages.
 */
export async function moduleFiles(modules: readonly string[]): Promise<string[]> {
  const found = new Set<string>()
  const waiting = modules.map(module => resolve(module))
  const [first] = waiting
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
  return [...found].sort((a, b) => (a === first ? -1 : b === first ? 1 : a < b ? -1 : 1))
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
