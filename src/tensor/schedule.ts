/**
 * How the learning rate moves over a run, as a multiple of its peak. Steps count from 0, the step before the first update, so with
 * warm-up the first update has rate 0: the convention of transformers' `get_scheduler`, whose numbers these are.
 */
export type ScheduleOptions =
  | {
      readonly kind: 'constant'
      /** Updates over which the rate rises linearly from 0 to the peak; 0 starts at the peak. */
      readonly warmupSteps: number
    }
  | {
      /** Falls in a straight line (`linear`) or along half a cosine wave (`cosine`) from the peak to the floor. */
      readonly kind: 'linear' | 'cosine'
      /** Updates over which the rate rises linearly from 0 to the peak; 0 starts at the peak. */
      readonly warmupSteps: number
      /** Updates until the floor is reached, warm-up included. The rate stays at the floor afterwards. */
      readonly totalSteps: number
      /** Where the fall ends, as a fraction of the peak. Default 0. Warm-up still begins at 0. */
      readonly floor?: number
    }

/** The fraction of the peak learning rate to use at a step. */
export type Schedule = (step: number) => number

/**
 * Builds a schedule; options that make no sense are a `RangeError` here, before any training.
 *
 * @example
 * const schedule = createSchedule({ kind: 'cosine', warmupSteps: 100, totalSteps: 5000, floor: 0.1 })
 * const rate = 3e-5 * schedule(step)
 */
export function createSchedule(options: ScheduleOptions): Schedule {
  const { kind, warmupSteps } = options
  requireCount('warmupSteps', warmupSteps)
  const fall = createFall(options)
  return step => {
    if (!Number.isSafeInteger(step) || step < 0) {
      throw new RangeError(`a ${kind} schedule needs a whole step of 0 or more, not ${step}`)
    }
    return step < warmupSteps ? step / warmupSteps : fall(step)
  }
}

function createFall(options: ScheduleOptions): Schedule {
  if (options.kind === 'constant') return () => 1
  const { kind, warmupSteps, totalSteps, floor = 0 } = options
  requireCount('totalSteps', totalSteps)
  if (warmupSteps > totalSteps) {
    throw new RangeError(
      `warmupSteps (${warmupSteps}) is more than totalSteps (${totalSteps}): the peak would never be reached`,
    )
  }
  if (!(floor >= 0 && floor <= 1)) {
    throw new RangeError(`floor is a fraction of the peak rate, between 0 and 1, not ${floor}`)
  }
  const fallSteps = totalSteps - warmupSteps
  return step => {
    // Held at the end: an unclamped cosine would climb again in a run that outlives its schedule.
    const progress = step >= totalSteps ? 1 : (step - warmupSteps) / fallSteps
    const height = kind === 'linear' ? 1 - progress : 0.5 * (1 + Math.cos(Math.PI * progress))
    return height * (1 - floor) + floor
  }
}

function requireCount(name: string, value: number): void {
  if (!Number.isSafeInteger(value) || value < 0) {
    throw new RangeError(`${name} must be a whole number of 0 or more, not ${value}`)
  }
}
