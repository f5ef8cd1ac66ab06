/**
 * The run directory: config, logs, journal and checkpoints of a run, and how to resume it. Knows nothing of models or training.
 */
export type { LockHolder } from '../files/index.js'
export { ActLog, type ActRecord, actsInForce, readActs } from './act-log.js'
export type { Checkpoint } from './checkpoints.js'
export { askRun } from './control-client.js'
export { ControlSocket } from './control-socket.js'
export { type Curves, curvesOf } from './curves.js'
export { type Diagnosis, diagnose, diagnoses, type Finding } from './diagnoses.js'
export { DiagnosisWatch } from './diagnosis-watch.js'
export { JournalError, JournalVersionError, RunError } from './errors.js'
export {
  type ExactJson,
  exactParse,
  exactStringify,
  type Json,
  type TypedArray,
} from './exact-json.js'
export { findRuns, isRun } from './find-runs.js'
export {
  type Change,
  configChanges,
  type RunCommand,
  type RunConfig,
  type RunIdentity,
  type RunInputs,
} from './identity.js'
export { Journal } from './journal.js'
export type { JournalRecord, LocatedRecord } from './journal-lines.js'
export { refuseHeld, takeLock } from './lock.js'
export { LogTail, type TailMark, type TailReader } from './log-tail.js'
export {
  defineLogger,
  isLoggerDefinition,
  type LoggedArtifact,
  type LoggedMetrics,
  type LoggedRun,
  type LoggedSample,
  type Logger,
  type LoggerCall,
  type LoggerDefinition,
  looksLikeLogger,
  type RunEnd,
} from './loggers/logger.js'
export { createLoggers, type LoggerName, loggerNames } from './loggers/run-loggers.js'
export { syncRun } from './loggers/sync.js'
export type { SkippedRecord } from './logs.js'
export { headline, headlineNames, mainMetrics } from './main-metrics.js'
export type { History } from './metric-history.js'
export { isMetricName, type MetricName, metricNames, unitOf } from './metric-names.js'
export { type MetricSeries, MetricTable } from './metric-table.js'
export { metricText } from './metric-text.js'
export { modelOfRun } from './model-of-run.js'
export { runPaths, trajectoryPath } from './paths.js'
export { type LogEntry, type Outcome, type ResumeOptions, Run, type RunOptions } from './run.js'
export { RunReader } from './run-reader.js'
export type { MetricPoint, RunEvent, RunStatus, RunView } from './run-view.js'
