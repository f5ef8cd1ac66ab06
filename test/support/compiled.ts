import { spawn, spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('../..', import.meta.url))

/** A room compiled to JavaScript beside the bridge, for child processes and worker threads. */
export interface Compiled {
  directory: string
  /** The module to import. */
  index: string
  remove(): void
}

export function compile(room = 'tensor'): Compiled {
  const directory = mkdtempSync(join(tmpdir(), 'whetstone-compiled-'))
  symlinkSync(join(root, 'build'), join(directory, 'build'))
  symlinkSync(join(root, 'node_modules'), join(directory, 'node_modules'))
  const project = join(directory, 'tsconfig.json')
  const compilerOptions = { rootDir: join(root, 'src'), outDir: join(directory, 'dist'), types: ['node'] }
  writeFileSync(
    project,
    JSON.stringify({ extends: join(root, 'tsconfig.json'), compilerOptions, include: [join(root, 'src', room)] }),
  )
  writeFileSync(join(directory, 'package.json'), '{ "type": "module" }')
  const manifest = createRequire(import.meta.url).resolve('typescript/package.json')
  const { bin } = JSON.parse(readFileSync(manifest, 'utf8')) as { bin: { tsc: string } }
  const { status, stdout } = spawnSync(process.execPath, [join(dirname(manifest), bin.tsc), '-p', project], {
    encoding: 'utf8',
  })
  if (status !== 0) throw new Error(`the ${room} room does not compile:\n${stdout}`)
  const remove = () => rmSync(directory, { recursive: true, force: true })
  return { directory, index: join(directory, 'dist', room, 'index.js'), remove }
}

export interface Ended {
  code: number | null
  signal: NodeJS.Signals | null
  output: string
}

/** Runs a script of test/tensor/children, or at a URL, in a process of its own; a crash is an exit by signal. */
export function runChild(
  script: string | URL,
  args: readonly string[],
  options: { flags?: readonly string[]; timeout?: number } = {},
): Promise<Ended> {
  const path = fileURLToPath(
    typeof script === 'string' ? new URL(`../tensor/children/${script}`, import.meta.url) : script,
  )
  return new Promise(resolve => {
    const child = spawn(process.execPath, [...(options.flags ?? []), path, ...args], {
      env: { ...process.env, OMP_NUM_THREADS: '1' },
    })
    let output = ''
    child.stdout.on('data', chunk => {
      output += chunk
    })
    child.stderr.on('data', chunk => {
      output += chunk
    })
    const timer = setTimeout(() => child.kill('SIGKILL'), options.timeout ?? 50_000)
    child.on('close', (code, signal) => {
      clearTimeout(timer)
      resolve({ code, signal, output })
    })
  })
}
