/** Commands on a pseudo-terminal, made by `script` of util-linux: what a person sees, keys included. */
import { spawn, spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { atEnd } from './at-end.js'
import { quick } from './compiled.js'
import { VirtualScreen } from './virtual-screen.js'

/** Why there is no pseudo-terminal here; undefined where there is one. */
export const terminalAbsent: string | undefined = /util-linux/.test(
  spawnSync('script', ['--version'], { encoding: 'utf8' }).stdout ?? '',
)
  ? undefined
  : 'script of util-linux is not installed'

const patienceMs = 50_000

export interface TerminalOptions {
  readonly columns: number
  readonly cwd?: string
  readonly env?: Readonly<Record<string, string>>
}

export class OnTerminal {
  readonly screen: VirtualScreen
  /** Everything that was written, control sequences included. */
  raw = ''
  /** From the start of the process to the first visible character. */
  firstMs = Number.POSITIVE_INFINITY
  readonly ended: Promise<number | null>
  readonly #child
  readonly #readers = new Set<() => void>()
  #rest = ''

  /** `command`: a program and its arguments. */
  constructor(command: readonly string[], { columns, cwd, env = {} }: TerminalOptions) {
    this.screen = new VirtualScreen(columns)
    const quoted = command.map(word => `'${word.replaceAll("'", "'\\''")}'`).join(' ')
    const { NO_COLOR: _, FORCE_COLOR: __, CI: ___, ...inherited } = process.env
    const started = performance.now()
    this.#child = spawn('script', ['-qefc', `stty cols ${columns} rows 24; exec ${quoted}`, '/dev/null'], {
      ...(cwd === undefined ? {} : { cwd }),
      env: { ...inherited, SHELL: '/bin/sh', TERM: 'xterm-256color', OMP_NUM_THREADS: '1', ...env },
    })
    this.#child.stdout.setEncoding('utf8').on('data', (text: string) => {
      this.raw += text
      // A sequence may come in two pieces.
      const all = this.#rest + text
      // biome-ignore lint/suspicious/noControlCharactersInRegex: what a terminal obeys
      const cut = /\x1b(\[[?0-9;]*)?$/.exec(all)?.index ?? all.length
      this.screen.write(all.slice(0, cut))
      this.#rest = all.slice(cut)
      if (this.firstMs === Number.POSITIVE_INFINITY && this.screen.lines.some(line => line.trim() !== ''))
        this.firstMs = performance.now() - started
      for (const read of this.#readers) read()
    })
    this.ended = new Promise(resolve => this.#child.on('close', code => resolve(code)))
    atEnd(() => this.#child.kill('SIGKILL'))
  }

  /** Keys of a person: `\x03` is Ctrl-C, `\r` is return. */
  type(keys: string): void {
    this.#child.stdin.write(keys)
  }

  /** What is on the screen, as one text. */
  get shown(): string {
    return this.screen.lines.join('\n')
  }

  /** Every state of the line that is redrawn in place. */
  get live(): string[] {
    // biome-ignore lint/suspicious/noControlCharactersInRegex: around each such line
    return [...this.raw.matchAll(/\x1b\[\?7l(.*?)\x1b\[\?7h/g)].map(([, text]) => text!)
  }

  /** Resolves when the screen shows this, and rejects if the command ends before, or if it takes too long. */
  waitFor(pattern: RegExp): Promise<void> {
    return new Promise((resolve, reject) => {
      const late = setTimeout(
        () => reject(new Error(`after ${patienceMs / 1000} s there is no ${pattern}:\n${this.shown}`)),
        patienceMs,
      )
      const read = (): void => {
        if (!pattern.test(this.shown)) return
        clearTimeout(late)
        this.#readers.delete(read)
        resolve()
      }
      this.#readers.add(read)
      read()
      void this.ended.then(() => reject(new Error(`it ended without ${pattern}:\n${this.shown}`)))
    })
  }
}

/** The `whetstone` command as it is installed. */
export const onTerminal = (args: readonly string[], options: TerminalOptions): OnTerminal =>
  new OnTerminal([process.execPath, join(quick(), 'install/whetstone.mjs'), ...args], options)
