/** A short GRPO training through any engine: the same task for all of them, so that their rises can be compared. */
import { join } from 'node:path'
import { expect } from 'vitest'
import { Journal } from '../../src/run/index.js'
import { replayRl } from '../../src/train/rl/index.js'
import { fresh, jsonLines } from './files.js'
import { letterReward, type MetricLine, metricLines, promptFile, quickly, start } from './rl.js'

/** Of a reward between 0 and 1: what the last five iterations earn more than the first. */
export const margin = 0.15

export interface ThroughOptions {
  readonly model: string
  readonly generator: Readonly<Record<string, unknown>>
  readonly output?: string
  readonly more?: Readonly<Record<string, unknown>>
  /** Stages at which the run is stopped, one after another, and resumed. */
  readonly stops?: readonly (string | AbortController)[]
}

export interface Trained {
  readonly output: string
  readonly lines: readonly MetricLine[]
  readonly rise: number
}

/** Enough to rise by the margin. */
const usualIterations = 16
const rolloutBatchSize = 8
const nSamplesPerPrompt = 8

export async function trainThrough({
  model,
  generator,
  output = fresh('run'),
  more = {},
  stops = [],
}: ThroughOptions): Promise<Trained> {
  const options = quickly({
    algorithm: 'grpo',
    model,
    generator,
    output,
    data: promptFile(16),
    rewards: letterReward,
    iterations: usualIterations,
    rolloutBatchSize,
    nSamplesPerPrompt,
    trainBatchSize: 16,
    maxNewTokens: 6,
    saveSteps: 1000,
    optimizer: { lr: 1e-2 },
    klController: { kind: 'fixed', coef: 0.001 },
    ...more,
  })
  for (const [i, one] of stops.entries()) {
    const how = typeof one === 'string' ? { stopAt: one } : { stop: one }
    expect((await start(options, { ...how, resume: i > 0 })).outcome).toBe('stopped')
  }
  expect((await start(options, { resume: stops.length > 0 })).outcome).toBe('finished')
  const lines = await metricLines(output)
  const rewards = lines.map(({ values }) => values['reward/mean']!)
  const last = rewards.slice(-5)
  return { output, lines, rise: last.reduce((a, b) => a + b, 0) / last.length - rewards[0]! }
}

/** Every sample of every iteration was finished once and trained on once, and the journal gives the same batches again. */
export async function expectEachOnce(output: string, iterations = usualIterations): Promise<void> {
  const journal = new Journal(join(output, 'journal'))
  const places = await journal.iterations()
  expect(places).toHaveLength(iterations)
  for (const iteration of places) {
    const records = (await journal.read(iteration)).map(({ record }) => record as Record<string, unknown>)
    const outcomes = records.filter(({ kind }) => kind === 'outcome')
    const names = outcomes.map(({ promptId, sample }) => `${promptId}/${sample}`)
    expect(new Set(names).size, `iteration ${iteration}`).toBe(names.length)
    expect(outcomes.every(({ of }) => of === 'completed')).toBe(true)
    expect(names).toHaveLength(rolloutBatchSize * nSamplesPerPrompt)
    const trained = records.filter(({ kind }) => kind === 'update').flatMap(({ places }) => places as number[])
    expect(trained.toSorted((a, b) => a - b)).toEqual(names.map((_, place) => place))
  }
  expect(await replayRl(output)).toMatchObject({ mismatches: [], notCompared: [] })
}

export const eventLines = (output: string): Record<string, unknown>[] => jsonLines(join(output, 'logs/events.jsonl'))
