/** Groups of one prompt, and how rewards and lengths are spread over a run. */
import type { DistributionsAnswer, Flag, GroupsAnswer, HeatMap } from '../api.js'
import { rowShown } from './query.js'
import type { SampleIndex } from './sample-index.js'

export interface GroupsQuestion {
  readonly iteration: number | undefined
  readonly sort: 'spread' | 'best' | 'worst' | 'order'
  readonly offset: number
  readonly limit: number
  readonly flags: ReadonlyMap<string, Flag>
}

interface Group {
  readonly from: number
  readonly to: number
  readonly mean: number
  readonly spread: number
}

export async function askGroups(index: SampleIndex, question: GroupsQuestion): Promise<GroupsAnswer> {
  const { columns } = index.store
  const rows = index.visible
  const first = rows === 0 ? 0 : columns.at(0, 'iteration')
  const last = rows === 0 ? 0 : columns.at(rows - 1, 'iteration')
  const iteration = question.iteration ?? lastScored(index) ?? last
  const groups: Group[] = []
  for (let from = columns.firstOf(iteration); from < rows && columns.at(from, 'iteration') === iteration; ) {
    const to = groupEnd(index, from)
    groups.push({ from, to, ...momentsOf(index, from, to) })
    from = to
  }
  const { sort } = question
  if (sort !== 'order') {
    const key = ({ mean, spread }: Group): number => (sort === 'spread' ? -spread : sort === 'best' ? -mean : mean)
    const number = (group: Group): number => (Number.isNaN(key(group)) ? Number.POSITIVE_INFINITY : key(group))
    groups.sort((a, b) => number(a) - number(b) || a.from - b.from)
  }
  const shown: GroupsAnswer['groups'][number][] = []
  for (const { from, to, mean, spread } of groups.slice(question.offset, question.offset + question.limit)) {
    const samples = []
    for (let row = from; row < to; row++) samples.push(await rowShown(index, row, question.flags, { most: 4000 }))
    samples.sort((a, b) => (b.reward ?? Number.NEGATIVE_INFINITY) - (a.reward ?? Number.NEGATIVE_INFINITY))
    const { promptId, prompt } = samples[0]!
    const known = (value: number): number | null => (Number.isNaN(value) ? null : value)
    shown.push({ promptId, prompt, mean: known(mean), spread: known(spread), samples })
  }
  return { iteration, iterations: { first, last }, total: groups.length, groups: shown }
}

/** The last iteration that has any reward: of the one after it, responses may be coming in. */
function lastScored(index: SampleIndex): number | undefined {
  const { columns } = index.store
  for (let row = index.visible - 1; row >= 0; row--)
    if (!Number.isNaN(columns.at(row, 'reward'))) return columns.at(row, 'iteration')
  return undefined
}

/** The first row after the group that begins here. */
function groupEnd(index: SampleIndex, from: number): number {
  const { columns } = index.store
  const [prompt, iteration] = [columns.at(from, 'prompt'), columns.at(from, 'iteration')]
  let to = from + 1
  while (to < index.visible && columns.at(to, 'prompt') === prompt && columns.at(to, 'iteration') === iteration) to++
  return to
}

/** Mean and standard deviation of the rewards that there are. */
function momentsOf(index: SampleIndex, from: number, to: number): { mean: number; spread: number } {
  const { columns } = index.store
  let [sum, squares, count] = [0, 0, 0]
  for (let row = from; row < to; row++) {
    const reward = columns.at(row, 'reward')
    if (Number.isNaN(reward)) continue
    sum += reward
    squares += reward * reward
    count++
  }
  if (count === 0) return { mean: Number.NaN, spread: Number.NaN }
  const mean = sum / count
  return { mean, spread: Math.sqrt(Math.max(0, squares / count - mean * mean)) }
}

/** Rewards that differ by less are the same: they are kept as float32. */
const sameReward = 1e-6

export function askDistributions(
  index: SampleIndex,
  { columns: most, bins }: { columns: number; bins: number },
): DistributionsAnswer {
  const { columns, reasons } = index.store
  const rows = index.visible
  if (rows === 0) return { rewards: noMap, lengths: noMap, groups: [], drops: [] }
  const [first, last] = [columns.at(0, 'iteration'), columns.at(rows - 1, 'iteration')]
  const width = Math.max(1, Math.ceil((last - first + 1) / most))
  const count = Math.floor((last - first) / width) + 1
  const rewards = heatMap(index, 'reward', { first, last, width, count, bins })
  const lengths = heatMap(index, 'length', { first, last, width, count, bins })
  const right = rewards.edges.at(-1)!
  const groups = Array.from({ length: count }, () => ({ groups: 0, same: 0, right: 0 }))
  const drops = Array.from({ length: count }, (): Record<string, number> => ({}))
  for (let from = 0; from < rows; ) {
    const to = groupEnd(index, from)
    const column = Math.floor((columns.at(from, 'iteration') - first) / width)
    const { mean, spread } = momentsOf(index, from, to)
    for (let row = from; row < to; row++) {
      const reason = reasons[columns.at(row, 'dropped')]!
      if (reason !== '') drops[column]![reason] = (drops[column]![reason] ?? 0) + 1
    }
    // One sample alone is no group.
    if (to - from > 1 && !Number.isNaN(mean)) {
      const group = groups[column]!
      group.groups++
      if (spread < sameReward) group.same++
      if (spread < sameReward && Math.abs(mean - right) < sameReward) group.right++
    }
    from = to
  }
  const range = (column: number) => ({
    from: first + column * width,
    to: Math.min(last, first + (column + 1) * width - 1),
  })
  return {
    rewards,
    lengths,
    groups: groups.map(({ groups: all, same, right: best }, column) => ({
      ...range(column),
      groups: all,
      zeroVariance: all === 0 ? 0 : same / all,
      allRight: all === 0 ? 0 : best / all,
    })),
    drops: drops.map((found, column) => ({ ...range(column), reasons: found })),
  }
}

interface MapShape {
  readonly first: number
  readonly last: number
  /** Iterations of a column. */
  readonly width: number
  readonly count: number
  readonly bins: number
}

function heatMap(index: SampleIndex, name: 'reward' | 'length', shape: MapShape): HeatMap {
  const { columns } = index.store
  const { first, last, width, count, bins } = shape
  let [low, high] = [Number.POSITIVE_INFINITY, Number.NEGATIVE_INFINITY]
  for (let row = 0; row < index.visible; row++) {
    const value = columns.at(row, name)
    if (Number.isNaN(value)) continue
    if (value < low) low = value
    if (value > high) high = value
  }
  if (low > high) return noMap
  const size = (high - low) / bins || 1
  const counts = Array.from({ length: count }, () => new Array<number>(bins).fill(0))
  for (let row = 0; row < index.visible; row++) {
    const value = columns.at(row, name)
    if (Number.isNaN(value)) continue
    const column = counts[Math.floor((columns.at(row, 'iteration') - first) / width)]!
    column[Math.min(bins - 1, Math.floor((value - low) / size))]!++
  }
  return {
    edges: Array.from({ length: bins + 1 }, (_, bin) =>
      bin === bins && size > 0 && high > low ? high : low + bin * size,
    ),
    columns: counts.map((column, place) => ({
      from: first + place * width,
      to: Math.min(last, first + (place + 1) * width - 1),
      counts: column,
    })),
  }
}

const noMap: HeatMap = { edges: [], columns: [] }
