/** Progress of a command, for a terminal or a log, and numbers as people read them. */
export type { Status } from './layout.js'
export { bytesText, durationText, isRoundingNoise, numberText, secondsText, shortText } from './numbers.js'
export {
  bytes,
  count,
  type LiveLine,
  plainReport,
  type Report,
  silentReport,
  type Transfer,
  terminalReport,
  type Unit,
} from './report.js'
export { reportFor, sayError, sayStarting } from './report-for.js'
export { cutText, wrapText } from './width.js'
