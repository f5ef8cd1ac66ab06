/** Warnings of Node and of rewards as lines of the command. */
import type { Report } from '../progress/index.js'

/** A user who asks Node for its own form gets that. */
const asked = /--(?:trace-warnings|trace-deprecation|no-warnings|redirect-warnings)/

/** Prints each warning of this process once, as a line; Node's own form has a process id and breaks a line that is redrawn. */
export function warningsAsLines(report: Pick<Report, 'warn'>, options: readonly string[]): void {
  if (options.some(option => asked.test(option))) return
  const told = new Set<string>()
  process.removeAllListeners('warning')
  process.on('warning', warning => {
    const text = warningText(warning)
    if (told.has(text)) return
    told.add(text)
    report.warn(text)
  })
}

/** Those of rewards are written for people; others say where they come from. */
function warningText({ name, message, code }: Error & { code?: string }): string {
  if (name === 'RewardWarning') return message
  const kind = name === 'Warning' ? '' : `, ${name}`
  return `${message} (Node.js${kind}${code === undefined ? '' : `, ${code}`})`
}
