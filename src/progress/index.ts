/** How a command says what it is doing, to a person at a terminal or to a log. */
export {
  bytes,
  count,
  plainReport,
  type Report,
  reportFor,
  type Transfer,
  terminalReport,
  type Unit,
} from './report.js'
