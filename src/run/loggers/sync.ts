/** Sends what the loggers of a run have not got, when the run is over. */
import { join, resolve } from 'node:path'
import { contentOf } from '../json-lines.js'
import { takeLock } from '../lock.js'
import { logFiles, runPaths } from '../paths.js'
import { RunReader } from '../run-reader.js'
import { LogDelivery } from './delivery.js'
import type { Logger, RunEnd } from './logger.js'

/** How long a logger may take for all of it. */
const waitMs = 600_000

interface SyncedLogger {
  readonly name: string
  /** Why something is left; undefined where everything is sent. */
  readonly left: string | undefined
}

/**
 * Sends what is missing to each logger. A run that is running is an error: it sends by itself.
 *
 * @example
 * const results = await syncRun('runs/sft', createLoggers(['mlflow']))
 */
export async function syncRun(
  given: string,
  loggers: readonly Logger[],
  { wait = waitMs }: { wait?: number } = {},
): Promise<SyncedLogger[]> {
  const directory = resolve(given)
  const { config, status, events } = await new RunReader(directory).read()
  const lock = await takeLock(runPaths(directory).lock)
  try {
    const error = events.findLast(({ kind }) => kind === 'failed')?.error
    const end: RunEnd = {
      outcome: status === 'running' ? 'crashed' : status,
      time: Date.parse(events.at(-1)?.time ?? config.created),
      ...(status === 'failed' && typeof error === 'string' ? { error } : {}),
    }
    const whole = async (name: keyof typeof logFiles): Promise<number> =>
      (await contentOf(join(runPaths(directory).logs, logFiles[name]))).lastIndexOf(10) + 1
    const sizes = { metrics: await whole('metrics'), samples: await whole('samples'), events: await whole('events') }
    return await Promise.all(
      loggers.map(async logger => {
        const options = { directory, config, logger, sizes: () => sizes, onFailure: () => {} }
        const delivery = await LogDelivery.open(options)
        return { name: logger.name, left: delivery.isDone ? undefined : await delivery.finish(end, wait) }
      }),
    )
  } finally {
    await lock.release()
  }
}
