/** How a command says what it is doing, to a person at a terminal or to a log. */
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
