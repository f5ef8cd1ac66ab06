/** The run directory: config, logs, journal, checkpoints. */
export {
  type Checkpoint,
  Journal,
  JournalError,
  type JournalRecord,
  type MetricName,
  type MetricPoint,
  metricNames,
  type ResumeOptions,
  Run,
  RunError,
  type RunOptions,
  type RunStatus,
  type RunView,
} from './index.js'
