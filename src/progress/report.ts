import { openSync, writeSync } from 'node:fs'

/** Receives the progress of a command. */
export interface Report {
  /** A fact that stays on the screen. */
  line(text: string): void
  /** Starts showing how far something has come, measured in bytes unless said otherwise. */
  transfer(label: string, unit?: Unit): Transfer
  /** Starts a status line. */
  live(): LiveLine
}

export interface LiveLine {
  /** The current status: a terminal replaces the last one, a log prints it from time to time. */
  show(text: string): void
  /** The current activity until the next `show`. A log prints each once. */
  doing(text: string): void
  /** Takes the line away; a log gets the last one, if it has not. */
  end(): void
}

export interface Unit {
  show(amount: number): string
  /** Totals below it are soon over: a log says nothing of them. */
  large: number
}

export interface Transfer {
  /** `total` may become known late, or never. `how` is said instead of the speed. */
  at(amount: number, total?: number, how?: string): void
  /** Removes the bar; the caller prints the result. */
  end(): void
}

export const bytes: Unit = { show: amount => `${(amount / 1e6).toFixed(amount < 1e7 ? 1 : 0)} MB`, large: 1e8 }
/** Whole things of a kind. */
export const count = (plural: string, large: number): Unit => ({
  show: amount => `${Math.round(amount).toLocaleString('en')} ${plural}`,
  large,
})

/** A report that prints nothing. */
export const silentReport: Report = {
  line() {},
  transfer: () => ({ at() {}, end() {} }),
  live: () => ({ show() {}, doing() {}, end() {} }),
}

const wipe = '\r\x1b[K'

/** Bars and lines redrawn in place, for a person watching. `columns` is the terminal's width: a line that breaks cannot be wiped. */
export function terminalReport(
  write: (text: string) => void,
  now: () => number = Date.now,
  columns: () => number = () => 120,
): Report {
  let live = ''
  return {
    line: text => write(`${wipe}${text}\n${live}`),
    transfer(label, { show } = bytes) {
      const started = now()
      let drawn = 0
      return {
        at(amount, total, how) {
          if (now() - drawn < 100) return
          drawn = now()
          const speed = how ?? `${show(amount / Math.max(0.1, (drawn - started) / 1000))}/s`
          if (!total) return write(`${wipe}  ${label} ${show(amount)}  ${speed}`)
          const share = Math.min(1, amount / total)
          const bar = '#'.repeat(Math.round(share * 24)).padEnd(24, '.')
          write(`${wipe}  ${label} [${bar}] ${Math.floor(share * 100)} % of ${show(total)}  ${speed}`)
        },
        end: () => write(wipe),
      }
    },
    live() {
      let [text, doing, drawn] = ['', '', 0]
      const draw = (): void => {
        drawn = now()
        live = `  ${[text, doing].filter(part => part !== '').join('  ')}`.slice(0, Math.max(1, columns() - 1))
        write(`${wipe}${live}`)
      }
      return {
        show(next) {
          text = next
          doing = ''
          if (now() - drawn >= 100) draw()
        },
        doing(next) {
          doing = next
          draw()
        },
        end() {
          live = ''
          write(wipe)
        },
      }
    },
  }
}

/** Whole lines at coarse steps, for logs: every fifth of a known total, every large part of an unknown one, nothing for what is soon over. */
export function plainReport(write: (text: string) => void, now: () => number = Date.now): Report {
  return {
    line: text => write(`${text}\n`),
    live: () => plainLive(write, now),
    transfer(label, { show, large } = bytes) {
      let shown = 0
      return {
        at(amount, total, how) {
          const step = total ? Math.floor((amount / total) * 5) : Math.floor(amount / large)
          if (step <= shown || (total && total < large)) return
          shown = step
          const far = total ? `${step * 20} % of ${show(total)}` : show(amount)
          write(`  ${label} ${far}${how === undefined ? '' : `  ${how}`}\n`)
        },
        end() {},
      }
    },
  }
}

/** A line a second at first; the longer it takes, the sparser: one for every fiftieth of the time so far, at least one a minute. */
function plainLive(write: (text: string) => void, now: () => number): LiveLine {
  const started = now()
  const said = new Set<string>()
  let next = started
  let unsaid: string | undefined
  return {
    show(text) {
      unsaid = text
      if (now() < next) return
      next = now() + Math.min(60_000, Math.max(1_000, (now() - started) / 50))
      unsaid = undefined
      write(`  ${text}\n`)
    },
    doing(text) {
      if (text === '' || said.has(text)) return
      said.add(text)
      write(`  ${text}\n`)
    },
    end() {
      if (unsaid !== undefined) write(`  ${unsaid}\n`)
      unsaid = undefined
    },
  }
}

/**
 * Chooses the report for this process. npm swallows what an install script prints unless `foreground-scripts` is on (this
 * repository's `.npmrc` sets it); where the package is a dependency of another one the terminal itself is written to instead.
 */
export function reportFor(env: NodeJS.ProcessEnv): Report {
  const stderr = (text: string) => void process.stderr.write(text)
  if (process.stderr.isTTY) return terminalReport(stderr, Date.now, () => process.stderr.columns ?? 80)
  if (env.npm_lifecycle_event === 'postinstall' && env.npm_config_foreground_scripts !== 'true' && !env.CI) {
    try {
      const terminal = openSync('/dev/tty', 'w')
      return terminalReport(text => void writeSync(terminal, text))
    } catch {
      // No terminal behind this process: what follows goes where npm keeps it for the error report.
    }
  }
  return plainReport(stderr)
}
