/** Progress of a command, for a terminal or a log. */
export {
  bytes,
  count,
  type LiveLine,
  plainReport,
  type Report,
  reportFor,
  silentReport,
  type Transfer,
  terminalReport,
  type Unit,
} from './report.js'
