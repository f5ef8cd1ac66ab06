import { noColour, type Paint } from './colour.js'
import { type Activity, activityText, type Status, statusLine, transferLine } from './layout.js'
import { bytesText, durationText, numberText } from './numbers.js'
import { type Drawn, Screen, type Terminal } from './screen.js'
import { wrapText } from './width.js'

/** Receives the progress of a command. */
export interface Report {
  /** A fact that stays on the screen. */
  line(text: string): void
  /** Something that the user should look at. It stays on the screen. */
  warn(text: string): void
  /** Starts showing how far something has come, measured in bytes unless said otherwise. */
  transfer(label: string, unit?: Unit): Transfer
  /** Starts a status line. */
  live(): LiveLine
}

export interface LiveLine {
  /** The current status: a terminal replaces the last one, a log prints it from time to time. What was being done is over. */
  show(status: Status): void
  /** The current activity until the next `show`, and how far it has come. A log prints each activity once, and how far it is from time to time. */
  doing(text: string, far?: string): void
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

export const bytes: Unit = { show: bytesText, large: 1e8 }
/** Whole things of a kind. */
export const count = (plural: string, large: number): Unit => ({
  show: amount => `${numberText(amount < 10 ? Number(amount.toFixed(1)) : Math.round(amount))} ${plural}`,
  large,
})

/** A report that prints nothing. */
export const silentReport: Report = {
  line() {},
  warn() {},
  transfer: () => ({ at() {}, end() {} }),
  live: () => ({ show() {}, doing() {}, end() {} }),
}

const warning = (text: string, paint: Paint): string => `${paint('warning:', 'yellow')} ${text}`

const calmMs = 300

interface TerminalReportOptions extends Terminal {
  readonly now?: (() => number) | undefined
  readonly paint?: Paint | undefined
  /** Default: one of its own. */
  readonly screen?: Screen | undefined
}

/** Bars and lines redrawn in place, for a person watching. */
export function terminalReport(options: TerminalReportOptions): Report {
  const { now = Date.now, paint = noColour } = options
  const screen = options.screen ?? new Screen(options, now)
  const seconds = (since: number): number => (now() - since) / 1000
  return {
    line: text => screen.line(wrapText(text, options.columns())),
    warn: text => screen.line(wrapText(warning(text, paint), options.columns())),
    transfer(label, { show } = bytes) {
      const started = now()
      let state: { amount: number; total?: number | undefined; how?: string | undefined } = { amount: 0 }
      const drawn: Drawn = columns => transferLine({ label, ...state, seconds: seconds(started), show }, columns, paint)
      screen.add(drawn)
      return {
        at(amount, total, how) {
          state = { amount, total, how }
          screen.redraw('soon')
        },
        end: () => screen.remove(drawn),
      }
    },
    live() {
      let status: Status | undefined
      let [doing, since]: [Activity | undefined, number] = [undefined, now()]
      const drawn: Drawn = columns => {
        if (!status && !doing) return ''
        const waited = seconds(since)
        // Behind steps that follow each other quickly it would only flicker.
        const calm = status !== undefined && waited * 1000 < calmMs
        // The time shows that it goes on, where a count stands still.
        const time = waited >= 2 ? durationText(waited) : undefined
        const far = [doing?.far, time].filter(part => part !== undefined).join(', ')
        return statusLine(status, calm || !doing ? undefined : { text: doing.text, far }, columns, paint)
      }
      screen.add(drawn)
      return {
        show(next) {
          const first = status === undefined
          status = next
          ;[doing, since] = [undefined, now()]
          screen.redraw(first ? 'now' : 'soon')
        },
        doing(text, far) {
          const same = doing?.text === text
          if (!same) since = now()
          doing = text === '' ? undefined : { text, far }
          screen.redraw(same ? 'soon' : 'now')
        },
        end: () => screen.remove(drawn),
      }
    },
  }
}

/** A long phase prints its line again after this time, then less and less often. */
const [leastSilence, mostSilence] = [10_000, 60_000]
const silence = (taken: number): number => Math.min(mostSilence, Math.max(leastSilence, taken / 10))

/**
 * Whole lines, for logs: every fifth of a known total, every large part of an unknown one, nothing for what is soon over, and a
 * line from time to time for what takes long.
 */
export function plainReport(
  write: (text: string) => void,
  now: () => number = Date.now,
  paint: Paint = noColour,
): Report {
  return {
    line: text => write(`${text}\n`),
    warn: text => write(`${warning(text, paint)}\n`),
    live: () => plainLive(write, now),
    transfer(label, { show, large } = bytes) {
      const started = now()
      let [shown, next] = [0, started + leastSilence]
      return {
        at(amount, total, how) {
          const step = total ? Math.floor((amount / total) * 5) : Math.floor(amount / large)
          const far = step > shown && !(total && total < large)
          if (!far && now() < next) return
          shown = Math.max(shown, step)
          next = now() + silence(now() - started)
          const percent = far ? step * 20 : Math.floor((amount / (total ?? 1)) * 100)
          const text = total ? `${percent} % of ${show(total)}` : show(amount)
          write(`  ${label} ${text}${how === undefined ? '' : `  ${how}`}\n`)
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
  let [next, nextFar] = [started, started + leastSilence]
  let unsaid: string | undefined
  const say = (text: string): void => {
    nextFar = now() + silence(now() - started)
    write(`  ${text}\n`)
  }
  return {
    show({ at, left, details = [] }) {
      unsaid = [at, ...(left === undefined ? [] : [left]), ...details].join('  ')
      if (now() < next) return
      next = now() + Math.min(60_000, Math.max(1_000, (now() - started) / 50))
      say(unsaid)
      unsaid = undefined
    },
    doing(text, far) {
      if (text === '') return
      if (said.has(text) && (far === undefined || now() < nextFar)) return
      const first = !said.has(text)
      said.add(text)
      say(first ? text : activityText({ text, far }))
    },
    end() {
      if (unsaid !== undefined) write(`  ${unsaid}\n`)
      unsaid = undefined
    },
  }
}
