import { execFileSync, spawn } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const repository = fileURLToPath(new URL('../..', import.meta.url))
const longestWaitMs = 300_000

/**
 * The project as a user has it after `npm run build`, from the sources as they are: for child processes, which cannot run TypeScript.
 * The first test file that asks for it makes it for all processes of this run; the others wait.
 */
export function compiled(): string {
  const directory = join(tmpdir(), 'compiled')
  const making = `${directory}.making`
  for (const end = Date.now() + longestWaitMs; Date.now() < end; pause(50)) {
    if (existsSync(directory)) return directory
    try {
      mkdirSync(making)
    } catch {
      // Another process is making it.
      continue
    }
    try {
      copySources(making)
      for (const step of steps(making, directory)) execFileSync(process.execPath, step, { cwd: making, stdio: 'pipe' })
      renameSync(making, directory)
    } finally {
      rmSync(making, { recursive: true, force: true })
    }
  }
  throw new Error(`another test process did not compile the project within ${longestWaitMs / 1000} s`)
}

/** Begins to compile beside the first tests of a whole run, so that none of them waits for it. Returns what ends it. */
export function compileAhead(): () => void {
  const directory = join(tmpdir(), 'compiled')
  const making = `${directory}.making`
  mkdirSync(making)
  copySources(making)
  let stop = (): void => {}
  const perform = ([step, ...later]: string[][]): void => {
    if (!step) {
      renameSync(making, directory)
      return
    }
    const child = spawn(process.execPath, step, { cwd: making, stdio: 'ignore' }).on('close', code => {
      if (code === 0) perform(later)
      // The first test that asks compiles it again and shows what is wrong.
      else rmSync(making, { recursive: true, force: true })
    })
    stop = () => child.kill()
  }
  perform(steps(making, directory))
  return () => stop()
}

/** The same with its modules in few files, for child processes that start often. */
export const quick = (): string => join(compiled(), 'quick')

/** The module of a room to import in a child process. */
export const compiledRoom = (name: string): string => join(quick(), 'dist', name, 'index.js')

/** The sources have changed. */
export const forgetCompiled = (): void => rmSync(join(tmpdir(), 'compiled'), { recursive: true, force: true })

/** Programs that make it. `npm run typecheck` looks at the types. */
const steps = (making: string, directory: string): string[][] => [
  ['install/build-javascript.mjs', '--noCheck'],
  [join(repository, 'test/support/bundle.mjs'), making, directory],
]

function copySources(clone: string): void {
  const { files } = JSON.parse(readFileSync(join(repository, 'package.json'), 'utf8')) as { files: string[] }
  const needed = ['package.json', 'README.md', 'LICENSE', 'src', 'tsconfig.json', 'tsconfig.build.json', ...files]
  for (const name of needed.filter(one => one !== 'dist'))
    cpSync(join(repository, name), join(clone, name), { recursive: true })
  // On a machine without TypeScript, `dist` stays the one that came with the checkout.
  for (const name of ['build', 'dist', 'node_modules'])
    if (existsSync(join(repository, name))) symlinkSync(join(repository, name), join(clone, name))
}

const pause = (ms: number): unknown => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms)
