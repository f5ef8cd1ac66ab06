/** The loggers of a run: each is served on its own, so that one that is slow or dead is in no other's way. */
import { resolve } from 'node:path'
import { InputError } from '../../errors/index.js'
import type { RunConfig } from '../identity.js'
import { type DeliveryTimes, LogDelivery } from './delivery.js'
import type { Sizes } from './log-entries.js'
import type { Logger, RunEnd } from './logger.js'
import { mlflowLogger } from './mlflow.js'
import { tensorBoardLogger } from './tensorboard.js'

/** Loggers that a config names. */
export const loggerNames = ['tensorboard', 'mlflow'] as const
export type LoggerName = (typeof loggerNames)[number]

const builtIn: Readonly<Record<LoggerName, () => Logger>> = {
  tensorboard: () => tensorBoardLogger(),
  mlflow: () => mlflowLogger(),
}

/**
 * Loggers of a config: ours by their names, and those of a user.
 *
 * @example
 * const loggers = createLoggers(['tensorboard'])
 */
export function createLoggers(given: readonly (LoggerName | Logger)[]): Logger[] {
  const loggers = given.map(one => (typeof one === 'string' ? builtIn[one]() : one))
  const twice = loggers.find(({ name }, i) => loggers.findIndex(other => other.name === name) < i)
  if (twice) throw new InputError(`loggers: two have the name "${twice.name}"; give one of them another name`)
  return loggers
}

export interface LoggerOptions {
  readonly directory: string
  readonly config: RunConfig
  /** Default: TensorBoard's files. */
  readonly loggers: readonly Logger[] | undefined
  readonly sizes: () => Sizes
  readonly onWarning: (message: string) => void
  readonly times?: Partial<DeliveryTimes>
}

export class RunLoggers {
  readonly #deliveries: readonly LogDelivery[]
  readonly #options: LoggerOptions

  private constructor(deliveries: readonly LogDelivery[], options: LoggerOptions) {
    this.#deliveries = deliveries
    this.#options = options
  }

  static async open(options: LoggerOptions): Promise<RunLoggers> {
    const { config, loggers = createLoggers(['tensorboard']), sizes, onWarning, times = {} } = options
    const directory = resolve(options.directory)
    const deliveries = await Promise.all(
      loggers.map(logger => {
        const onFailure = (reason: string): void =>
          onWarning(`logger ${logger.name}: ${reason}. The run goes on, and sends later what is missing.`)
        return LogDelivery.open({ directory, config, logger, sizes, onFailure, times })
      }),
    )
    for (const delivery of deliveries) delivery.begin()
    return new RunLoggers(deliveries, options)
  }

  /** Sends to all loggers at once, for a limited time, and reports what it could not send. */
  async finish(end: RunEnd): Promise<void> {
    const { onWarning, directory } = this.#options
    const left = await Promise.all(
      this.#deliveries.map(async delivery => ({ delivery, why: await delivery.finish(end) })),
    )
    for (const { delivery, why } of left)
      if (why !== undefined)
        onWarning(
          `logger ${delivery.logger.name}: not everything was sent (${why}). To send it: whetstone runs sync ${directory}`,
        )
  }
}
