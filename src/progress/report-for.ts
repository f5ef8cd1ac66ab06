/** The report of this process: for its terminal, or for a log. */
import { openSync, writeSync } from 'node:fs'
import { paintFor } from './colour.js'
import { statusLine } from './layout.js'
import { plainReport, type Report, terminalReport } from './report.js'
import { Screen, type Terminal } from './screen.js'
import { wrapText } from './width.js'

const tickMs = 250
const every = (work: () => void): (() => void) => {
  const timer = setInterval(work, tickMs).unref()
  return () => clearInterval(timer)
}

/** One for the process: two lines that are redrawn in the same place would be one too many. */
let own: { readonly report: Report; readonly screen: Screen } | undefined

/**
 * Chooses the report for this process. npm swallows what an install script prints unless `foreground-scripts` is on (this
 * repository's `.npmrc` sets it); where the package is a dependency of another one the terminal itself is written to instead.
 */
export function reportFor(env: NodeJS.ProcessEnv): Report {
  const { stderr } = process
  const write = (text: string) => void stderr.write(text)
  const paint = paintFor({ isTerminal: stderr.isTTY === true, env })
  // A dumb terminal cannot take a line away.
  if (stderr.isTTY && env.TERM !== 'dumb') return processScreen(env).report
  if (env.npm_lifecycle_event === 'postinstall' && env.npm_config_foreground_scripts !== 'true' && !env.CI) {
    try {
      const terminal = openSync('/dev/tty', 'w')
      return terminalReport({ write: text => void writeSync(terminal, text), columns: () => 80, every })
    } catch {
      // No terminal behind this process: what follows goes where npm keeps it for the error report.
    }
  }
  return plainReport(write, Date.now, paint)
}

/**
 * The first word of a command that takes long, before its code is loaded: on a terminal it is replaced by what follows.
 */
export function sayStarting(text: string, env: NodeJS.ProcessEnv): void {
  if (process.stderr.isTTY && env.TERM !== 'dumb')
    processScreen(env).screen.start(columns => statusLine(undefined, { text }, columns))
  else process.stderr.write(`${text}\n`)
}

function processScreen(env: NodeJS.ProcessEnv): NonNullable<typeof own> {
  if (own) return own
  const { stderr, stdout } = process
  const draw = stderr.write.bind(stderr) as (text: string) => boolean
  const terminal: Terminal = { write: text => void draw(text), columns: () => stderr.columns || 80, every }
  const screen = new Screen(terminal, Date.now)
  const paint = paintFor({ isTerminal: true, env })
  // What others print must not end up in the line, nor behind it.
  for (const stream of stdout.isTTY ? [stdout, stderr] : [stderr]) keepApart(stream, screen)
  stderr.on('resize', () => screen.redraw())
  process.once('exit', () => screen.wipe())
  own = { screen, report: terminalReport({ ...terminal, screen, paint }) }
  return own
}

function keepApart(stream: NodeJS.WriteStream, screen: Screen): void {
  const write = stream.write.bind(stream) as (...args: unknown[]) => boolean
  const replaced = (...args: unknown[]): boolean => {
    const [chunk] = args
    const text = typeof chunk === 'string' ? chunk : Buffer.from(chunk as Uint8Array).toString('latin1')
    let more = true
    screen.above(text, () => {
      more = write(...args)
    })
    return more
  }
  stream.write = replaced as typeof stream.write
}

/** Prints what went wrong: on a terminal broken between words, elsewhere as it is. */
export function sayError(text: string): void {
  const { stderr } = process
  console.error(stderr.isTTY ? wrapText(text, stderr.columns || 80) : text)
}
