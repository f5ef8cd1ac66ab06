import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { atEnd } from './at-end.js'
import { quick } from './compiled.js'

export interface Ended {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  readonly stdout: string
  readonly stderr: string
  /** Both, in the order they came. */
  readonly output: string
}

export interface Child {
  readonly process: ChildProcessWithoutNullStreams
  /** What it has printed so far. */
  readonly printed: { stdout: string; stderr: string; output: string }
  readonly ended: Promise<Ended>
  /** Resolves when it has printed this, and rejects if it ends before. */
  waitFor(pattern: RegExp): Promise<RegExpExecArray>
  kill(signal?: NodeJS.Signals): Promise<Ended>
}

export interface ChildOptions {
  /** Of Node. */
  readonly flags?: readonly string[]
  readonly cwd?: string
  readonly env?: Readonly<Record<string, string>>
  /** A command that runs it, such as one that enters another network. */
  readonly enter?: readonly string[]
  /** It is killed after this time. */
  readonly timeout?: number
}

/** Runs a script, or a program text with the flag `--eval`, in a process with one thread. What outlives the test file is killed. */
export function startChild(script: string | URL, args: readonly string[] = [], options: ChildOptions = {}): Child {
  const path = typeof script === 'string' ? script : fileURLToPath(script)
  const [program, ...rest] = [...(options.enter ?? []), process.execPath, ...(options.flags ?? []), path, ...args]
  const child = spawn(program!, rest, {
    env: { ...process.env, OMP_NUM_THREADS: '1', ...options.env },
    ...(options.cwd === undefined ? {} : { cwd: options.cwd }),
  })
  const printed = { stdout: '', stderr: '', output: '' }
  const readers = new Set<() => void>()
  for (const name of ['stdout', 'stderr'] as const)
    child[name].setEncoding('utf8').on('data', (text: string) => {
      printed[name] += text
      printed.output += text
      for (const read of readers) read()
    })
  const timer = options.timeout && setTimeout(() => child.kill('SIGKILL'), options.timeout)
  const ended = new Promise<Ended>(resolve => {
    child.on('close', (code, signal) => {
      clearTimeout(timer)
      resolve({ code, signal, ...printed })
    })
  })
  atEnd(() => child.kill('SIGKILL'))
  return {
    process: child,
    printed,
    ended,
    waitFor: pattern =>
      new Promise((resolve, reject) => {
        const read = (): void => {
          const match = pattern.exec(printed.output)
          if (!match) return
          readers.delete(read)
          resolve(match)
        }
        readers.add(read)
        read()
        void ended.then(() => reject(new Error(`it ended: ${printed.output}`)))
      }),
    kill(signal = 'SIGKILL') {
      child.kill(signal)
      return ended
    },
  }
}

/** As `startChild`, without an input, until it has ended. */
export function runChild(script: string | URL, args?: readonly string[], options?: ChildOptions): Promise<Ended> {
  const child = startChild(script, args, options)
  child.process.stdin.end()
  return child.ended
}

/** Runs a script with the numbered points of crash-points.mjs; `env` says at which it dies. */
export function runCrashing(
  script: URL,
  args: readonly string[],
  env: Readonly<Record<string, string>>,
): Promise<Ended> {
  const preload = fileURLToPath(new URL('./crash-points.mjs', import.meta.url))
  return runChild(script, args, { flags: ['--import', preload], env })
}

/** The `whetstone` command as it is installed, in a process. */
export const startWhetstone = (args: readonly string[], options?: ChildOptions): Child =>
  startChild(join(quick(), 'install/whetstone.mjs'), args, options)

export const runWhetstone = (args: readonly string[], options?: ChildOptions): Promise<Ended> =>
  runChild(join(quick(), 'install/whetstone.mjs'), args, options)
