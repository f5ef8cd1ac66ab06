/** The metrics of a run so far, and what diagnoses ask of them. Pure. */

/** By name, ascending by step. */
export type History = ReadonlyMap<string, readonly { readonly step: number; readonly value: number }[]>

/** A history that has values without their steps, which take less memory. */
export interface ValueHistory extends History {
  valuesOf(name: string): readonly number[]
}

export function values(history: History, name: string): readonly number[] {
  if ('valuesOf' in history) return (history as ValueHistory).valuesOf(name)
  return (history.get(name) ?? []).map(({ value }) => value)
}

/** Whether a run goes on, or this is all there will be of it. */
export type Moment = 'step' | 'end'

/**
 * The last values of a metric: `count` of them while a run goes on, and undefined where there are fewer. At the end of a run fewer will
 * do: nothing comes after them.
 */
export function last(history: History, name: string, count: number, at: Moment): number[] | undefined {
  const found = values(history, name)
  const enough = at === 'end' ? 1 : count
  return found.length >= enough ? found.slice(-count) : undefined
}

/** What values are of, for people: `last 3 iterations`. */
export function lastText(found: readonly unknown[], unit: 'iteration' | 'step'): string {
  return found.length === 1 ? `last ${unit}` : `last ${found.length} ${unit}s`
}

export const all = (found: readonly number[] | undefined, holds: (value: number) => boolean): boolean =>
  found?.every(holds) ?? false

export function mean(numbers: readonly number[]): number {
  return numbers.reduce((sum, one) => sum + one, 0) / Math.max(1, numbers.length)
}

/** The least of any count of numbers: more than a call takes as arguments. */
export function least(numbers: readonly number[]): number {
  return numbers.reduce((a, b) => Math.min(a, b), Number.POSITIVE_INFINITY)
}

/** Mean standard deviation of the two halves of a list: what moves without any trend. */
export function spread(numbers: readonly number[]): number {
  const half = Math.floor(numbers.length / 2)
  return mean([deviation(numbers.slice(0, half)), deviation(numbers.slice(half))])
}

function deviation(numbers: readonly number[]): number {
  const middle = mean(numbers)
  return Math.sqrt(mean(numbers.map(one => (one - middle) ** 2)))
}

/** The curve that says how well a reinforcement learning does: over held-out prompts where there are enough points of it. */
function rewardCurve(history: History): readonly number[] {
  return values(history, 'reward/mean')
}

/** Points at each end of a curve: a quarter of it. */
const endsOf = (curve: readonly number[], least: number): { first: number[]; recent: number[] } | undefined => {
  const size = Math.max(least, Math.floor(curve.length / 4))
  return curve.length < 2 * size ? undefined : { first: curve.slice(0, size), recent: curve.slice(-size) }
}

/** Two means and the standard error of their difference. */
function compared({ first, recent }: { first: readonly number[]; recent: readonly number[] }) {
  const error = Math.hypot(
    deviation(first) / Math.sqrt(first.length - 1),
    deviation(recent) / Math.sqrt(recent.length - 1),
  )
  return { from: mean(first), to: mean(recent), error }
}

/** Whether the reward is clearly higher than at the start. */
export function isRising(history: History): boolean {
  const ends = endsOf(rewardCurve(history), 3)
  if (!ends) return false
  const { from, to, error } = compared(ends)
  return to - from > 3 * error && to > from
}

/** Whether the reward rose and is near the best that any sample ever had: equal rewards are success then. */
export function hasSolved(history: History): boolean {
  const curve = rewardCurve(history)
  const lowest = least(values(history, 'reward/min'))
  const highest = -least(values(history, 'reward/max').map(value => -value))
  const recent = mean(curve.slice(-5))
  return curve.length > 0 && highest > lowest && recent >= highest - 0.1 * (highest - lowest)
}

/** A fall that is more than noise, and more than a quarter of what samples differ by. */
export function recentFall(history: History): { from: number; to: number } | undefined {
  const curve = rewardCurve(history)
  if (curve.length < 20) return undefined
  const ends = endsOf(curve, 8)
  if (!ends) return undefined
  const { from, to, error } = compared(ends)
  const differ = mean(values(history, 'reward/std'))
  return from - to > 5 * error && from - to > 0.25 * differ ? { from, to } : undefined
}

/** A reward that after many iterations is where it began, though samples differ and the task is not solved. */
export function flatReward(history: History): { iterations: number; reward: number } | undefined {
  const curve = rewardCurve(history)
  const ends = curve.length < 50 || hasSolved(history) ? undefined : endsOf(curve, 12)
  if (!ends) return undefined
  const { from, to, error } = compared(ends)
  const isSame = Math.abs(to - from) <= Math.min(2 * error, 0.1 * mean(values(history, 'reward/std')))
  return isSame ? { iterations: curve.length, reward: to } : undefined
}

/** The gap between engine and trainer, where it is more than rounding and several times what it was. */
export function grownGap(history: History): { from: number; to: number } | undefined {
  const ends = endsOf(values(history, 'gap/mean').map(Math.abs), 5)
  if (!ends) return undefined
  const { from, to, error } = compared(ends)
  return to > 0.02 && to > 3 * from && to - from > 3 * error ? { from, to } : undefined
}

/** Drops that are not failures: groups that teach nothing, samples beyond the batch, samples of old weights. */
const harmless = new Set(['zero-variance', 'surplus', 'stale'])

/** Of each of the last iterations, the share of samples that failed; undefined where there are fewer iterations. */
export function failedShare(history: History, count: number, at: Moment): number[] | undefined {
  const shown = last(history, 'samples/trained', count, at)
  if (!shown) return undefined
  const failures = [...history.keys()].filter(
    name => name.startsWith('drops/') && !harmless.has(name.slice('drops/'.length)),
  )
  const points = failures.map(name => history.get(name)!)
  return history
    .get('samples/trained')!
    .slice(-shown.length)
    .map(({ step, value }) => {
      let failed = 0
      for (const one of points) failed += one.findLast(point => point.step === step)?.value ?? 0
      return failed / Math.max(1, failed + value)
    })
}
