import { type ErrorCode, WhetstoneError } from '../errors/index.js'

/** A run directory cannot be used as asked: another process owns it, it belongs to another config, a file of it is damaged. */
export class RunError extends WhetstoneError {
  static override readonly code: ErrorCode = 'WHETSTONE_RUN'
  override name = 'RunError'
}

/** A line of a journal is not what was written. */
export class JournalError extends RunError {
  static override readonly code: ErrorCode = 'WHETSTONE_JOURNAL'
  override name = 'JournalError'
  readonly file: string
  /** From 1. */
  readonly line: number
  /** What can still be read of the damaged record, such as its kind, prompt and sample. */
  readonly record: Readonly<Record<string, string | number>>

  constructor(file: string, line: number, record: Readonly<Record<string, string | number>>, options?: ErrorOptions) {
    const named = Object.entries(record).map(([key, value]) => `${key} ${value}`)
    const who = named.length > 0 ? ` (${named.join(', ')})` : ''
    super(`${file}:${line}: the checksum does not match: the record${who} has changed since it was written`, options)
    this.file = file
    this.line = line
    this.record = record
  }
}

/** A journal was written in another version of its format. */
export class JournalVersionError extends RunError {
  static override readonly code: ErrorCode = 'WHETSTONE_JOURNAL_VERSION'
  override name = 'JournalVersionError'

  constructor(file: string, found: number, known: number) {
    super(`${file} has version ${found} of the journal format, and this Whetstone reads and writes version ${known}`, {
      remedy:
        'Continue or replay the run with the version of Whetstone that wrote it (config.json has it under versions), or start a new run from its best_model or final_model.',
    })
  }
}
