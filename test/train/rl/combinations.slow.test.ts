/**
 * Every pair of options together: a run of two iterations that changes weights, resumes to the same bits and is replayed whole; or
 * a refusal with a reason before anything runs. The rows are a covering array, so that no pair is left out by choice.
 */
import { existsSync, readdirSync } from 'node:fs'
import { cp, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { rl } from '../../../src/api/index.js'
import { givenParts } from '../../../src/api/live-parts.js'
import { InputError } from '../../../src/errors/index.js'
import { LocalModel } from '../../../src/model/index.js'
import { checkCapabilities } from '../../../src/train/rl/engine-checks.js'
import { replayRl, resolveRlConfig } from '../../../src/train/rl/index.js'
import { fresh } from '../../support/files.js'
import { finalWeights, metricLines, type StartOptions, stoppedAt } from '../../support/rl.js'
import {
  factors,
  givenOf,
  knownOf,
  type Options,
  optionsOf,
  ownDefinitions,
  policy,
  startServersAnew,
  titleOf,
} from './combinations-world.js'
import { allPairs, coverPairs, nameOf, type Pair, pairsOf, type Row } from './covering.js'

const sizes = factors.map(({ levels }) => Object.keys(levels).length)
/** Whether nothing is wrong with the options, by the checks that a run begins with. */
const accepts = (row: Row): boolean => {
  const { given, capabilities } = knownOf(optionsOf(row))
  try {
    const { values } = givenParts(given, 'none')
    const { config } = resolveRlConfig([{ origin: 'row', values: { ...values, output: 'none' } }])
    if (capabilities) checkCapabilities(config, { capabilities })
    return true
  } catch (error) {
    if (error instanceof InputError) return false
    throw error
  }
}
const { rows, refused } = coverPairs(sizes, accepts)

/** Where the weights lie that training begins with, as a run of this dtype exports them. */
const initial = Object.fromEntries(
  await Promise.all(
    (['float32', 'bfloat16'] as const).map(async dtype => {
      const model = await LocalModel.load(policy, { role: 'language', dtype })
      const at = fresh('initial')
      await model.export(join(at, 'final_model'), { what: 'model' })
      model.dispose()
      return [dtype, at] as const
    }),
  ),
)

test('every pair is in a row, or refused', () => {
  const covered = new Set([...rows.flatMap(pairsOf), ...refused].map(nameOf))
  expect(allPairs(sizes).filter(pair => !covered.has(nameOf(pair)))).toEqual([])
})

/** What contradicts itself, and nothing else: an option that is refused with everything would hide behind these. */
test('the factors that exclude each other are known', () => {
  const names = refused.map(({ factors: pair }) => pair.map(factor => factors[factor]!.name).join(' and '))
  expect([...new Set(names)].sort()).toEqual([
    'TIS and form',
    'TIS and staleness',
    'adapter and reference',
    'dynamic sampling and samples',
    'engine and form',
    'engine and staleness',
    'estimator and critic',
    'estimator and samples',
    'model and adapter',
    'model and gradient checkpointing',
    'model and masters',
    'model and reference',
    'preset and samples',
    'sampling and TIS',
    'sampling and staleness',
    'sleep and staleness',
    'staleness and form',
  ])
})

describe('refused with a reason before anything runs', () => {
  test.each(refused.map(rowOf).map(row => [titleOf(row), optionsOf(row)] as const))('%s', async (_, options) => {
    const output = fresh('refused')
    await expect(start({ ...options, output })).rejects.toThrow(/\b[a-z]\w+: .{20}/)
    // What an own generator can do is known when it is open.
    expect(existsSync(output) ? await metricLines(output) : []).toEqual([])
  })
})

/** Nothing asked for but the pair. */
function rowOf({ factors: [a, b], levels: [level, other] }: Pair): Row {
  return factors
    .map(() => 0)
    .with(a, level)
    .with(b, other)
}

describe('rows', () => {
  test.each(rows.map(row => [titleOf(row), optionsOf(row)] as const))('%s', async (_, options) => {
    const output = fresh('whole')
    const before = initial[String(options.dtype ?? 'float32')]!
    if (options.generator) await startServersAnew(join(before, 'final_model'))
    expect(await start({ ...options, output })).toMatchObject({ outcome: 'finished' })
    expect(finalWeights(output).equals(finalWeights(before)), 'the weights are as before').toBe(false)
    const isAhead = options.maxStaleness !== undefined
    const [whole, again] = isAhead ? await lastLost(options, output) : [output, await interrupted(options)]
    for (const model of ['final_model', 'best_model', 'value_model', 'ema_model'])
      if (existsSync(join(whole, model)))
        expect(finalWeights(again, model).equals(finalWeights(whole, model)), model).toBe(true)
    expect((await metricLines(again)).map(measured)).toEqual((await metricLines(whole)).map(measured))
    for (const run of [whole, again])
      expect(await replayRl(run, { definitions: ownDefinitions })).toMatchObject({ iterations: 2, mismatches: [] })
  })
})

/** From the front door, with live parts as a program makes them. */
async function start(options: Options, { resume = false, stopAt }: StartOptions = {}) {
  const { given, end } = await givenOf(options)
  const { report, signal } = stoppedAt(stopAt)
  try {
    return await rl({ ...(given as unknown as Parameters<typeof rl>[0]), resume, report, signal })
  } finally {
    await end()
  }
}

/** Asked to stop in the first iteration, and resumed. */
async function interrupted(options: Options): Promise<string> {
  const output = fresh('interrupted')
  expect((await start({ ...options, output }, { stopAt: 'updating' })).outcome).toBe('stopped')
  expect((await start({ ...options, output }, { resume: true })).outcome).toBe('finished')
  return output
}

/**
 * Killed before the last checkpoint, and resumed: the run as it was, and as it is then. Which weights a rollout ahead of its turn sees
 * depends on time: the journal has its samples.
 */
async function lastLost(options: Options, output: string): Promise<[whole: string, again: string]> {
  const whole = fresh('kept')
  await cp(output, whole, { recursive: true })
  const last = readdirSync(join(output, 'checkpoints')).sort().at(-1)!
  await rm(join(output, 'checkpoints', last), { recursive: true })
  expect((await start({ ...options, output }, { resume: true })).outcome).toBe('finished')
  return [whole, output]
}

function measured({ step, values }: { step: number; values: Record<string, number> }) {
  const names = Object.keys(values).filter(
    name => !/^(seconds|speed|memory|samples\/reused|rollouts\/ahead)/.test(name),
  )
  return { step, ...Object.fromEntries(names.map(name => [name, values[name]])) }
}
