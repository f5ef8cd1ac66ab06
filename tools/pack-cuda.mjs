/**
 * Packs what the GPU suite and the benches need into one small folder, for a machine that has PyTorch with CUDA and a C++
 * compiler but no Node and no network: Node itself, this checkout with its dist/, and of node_modules what runs.
 *
 *   node tools/pack-cuda.mjs                     .cuda-pack/, after `npm run build`
 *   node tools/pack-cuda.mjs --before DIRECTORY  with another checkout beside it, for bench/compare.mjs
 *   node tools/pack-cuda.mjs --beside            smaller: the files of this checkout travel beside the pack, not in it
 *
 * There, `bash .cuda-pack/run.sh` says what it can run (tools/run-cuda-pack.sh).
 */
import { execFileSync, spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'

const root = fileURLToPath(new URL('..', import.meta.url))
const target = join(root, '.cuda-pack')
/** What may be carried to such a machine. */
const MOST_BYTES = 55 * 2 ** 20

const { values: options } = parseArgs({ options: { before: { type: 'string' }, beside: { type: 'boolean' } } })

/** Packages by name, with all they depend on, as directories inside node_modules. */
function closure(names) {
  const found = new Set()
  const visit = (name, from) => {
    for (let folder = from; ; folder = dirname(folder)) {
      const directory = join(folder, 'node_modules', name)
      if (existsSync(join(directory, 'package.json'))) {
        if (found.has(directory)) return
        found.add(directory)
        const { dependencies, optionalDependencies } = JSON.parse(readFileSync(join(directory, 'package.json'), 'utf8'))
        // Optional ones are binaries for other platforms, which are not installed.
        for (const next of Object.keys({ ...dependencies, ...optionalDependencies })) visit(next, directory)
        return
      }
      if (folder === dirname(folder)) return
    }
  }
  for (const name of names) visit(name, root)
  return found
}

/** Neither types nor maps nor prose run, and of a binary for several platforms one does. No test of the suite decodes pictures or styles. */
const runs = path =>
  !/\.(d\.[cm]?ts|map|md|markdown|flow)$/.test(path) &&
  !/node_modules\/(@img|lightningcss-)/.test(path) &&
  (!/\.node$/.test(path) || !path.includes('tokenizers.') || path.endsWith('linux-x64-gnu.node'))

function copyPackages(into) {
  const { dependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  const modules = join(root, 'node_modules')
  for (const directory of closure([...Object.keys(dependencies), 'vitest', 'fast-check', 'esbuild'])) {
    const nested = join(directory, 'node_modules')
    cpSync(directory, join(into, directory.slice(modules.length)), {
      recursive: true,
      dereference: true,
      filter: path => runs(path) && !path.startsWith(nested),
    })
  }
}

/** What git knows of a checkout under these paths, and its dist/. */
function copyCheckout(from, into, paths) {
  if (!existsSync(join(from, 'dist/cli/main.js'))) throw new Error(`${from} has no dist/: run \`npm run build\` there`)
  const list = ['ls-files', '-z', '--cached', '--others', '--exclude-standard', '--', ...paths]
  const files = paths.length > 0 ? execFileSync('git', list, { cwd: from, encoding: 'utf8' }).split('\0') : []
  for (const file of files.filter(Boolean)) if (existsSync(join(from, file))) cpSync(join(from, file), join(into, file))
  cpSync(join(from, 'dist'), join(into, 'dist'), { recursive: true, filter: runs })
}

/** Compressed to `file`, by a pipe of commands. */
function compress(command, file) {
  const { status } = spawnSync('bash', ['-o', 'pipefail', '-c', `${command} > "$1"`, 'bash', file], {
    stdio: ['ignore', 'inherit', 'inherit'],
  })
  if (status !== 0) throw new Error(`${command} failed`)
}

const staging = mkdtempSync(join(tmpdir(), 'whetstone-pack-'))
try {
  copyCheckout(root, join(staging, 'after'), options.beside ? [] : ['.'])
  // What the benches of the other one need; its tests and docs are not run.
  const parts = ['package.json', 'bench', 'install', 'native']
  if (options.before) copyCheckout(resolve(options.before), join(staging, 'before'), parts)
  copyPackages(join(staging, 'node_modules'))

  mkdirSync(target, { recursive: true })
  const node = `node-${process.version}.xz`
  for (const name of readdirSync(target)) if (name !== node) rmSync(join(target, name), { recursive: true })
  if (!existsSync(join(target, node))) {
    console.error('Compressing Node')
    const program = join(staging, 'node')
    cpSync(process.execPath, program)
    // Names for debuggers are a tenth of it; without binutils they travel too.
    spawnSync('strip', [program])
    compress(`xz -6 -T0 -c '${program}'`, join(target, node))
    rmSync(program)
  }
  console.error('Compressing the rest')
  // Of two checkouts most files are equal, and a large window sees it.
  compress(`tar -C '${staging}' -cf - . | xz -6 --lzma2=preset=6,dict=64MiB -c`, join(target, 'tree.tar.xz'))
  cpSync(join(root, 'tools/run-cuda-pack.sh'), join(target, 'run.sh'))
} finally {
  rmSync(staging, { recursive: true, force: true })
}

const bytes = readdirSync(target).reduce((sum, name) => sum + statSync(join(target, name)).size, 0)
const mib = (bytes / 2 ** 20).toFixed(1)
console.log(`${basename(target)}/: ${mib} MiB`)
if (bytes > MOST_BYTES) {
  console.error(`more than ${MOST_BYTES / 2 ** 20} MiB`)
  process.exitCode = 1
}
