/** How a command says what it is doing, to a person at a terminal or to a log. */
export { bytes, count, plainReport, reportFor, silentReport, terminalReport, } from './report.js';
//# sourceMappingURL=index.js.map