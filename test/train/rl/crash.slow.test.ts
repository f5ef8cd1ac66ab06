import { mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { Run } from '../../../src/run/index.js'
import { replayRl } from '../../../src/train/rl/index.js'
import { runCrashing } from '../../support/child.js'
import { compiledRoom } from '../../support/compiled.js'
import { fresh } from '../../support/files.js'
import { finalWeights, metricLines, smallRun, start } from '../../support/rl.js'

const script = new URL('./children/small-rl.mjs', import.meta.url)
const options = await smallRun(
  { seed: 3, prompts: 4, layers: 1 },
  {
    algorithm: 'grpo',
    nSamplesPerPrompt: 2,
    maxNewTokens: 4,
    iterations: 2,
    trainBatchSize: 2,
    keepCheckpoints: 1,
    saveSteps: 2,
  },
)

/** `CRASH_POINTS=all npx vitest run test/train/rl/crash.slow.test.ts` takes every single one, and ten minutes. */
const everyPoint = process.env.CRASH_POINTS === 'all'

/** Every second kind of step, rename and sync of the journal, by its first; of all other kinds (which call, on which file) every eighth. */
function distinctPoints(lines: readonly string[]): number[] {
  const kinds = new Map<string, number[]>()
  for (const line of lines) {
    const [, number, what, path = ''] = /^(\d+) ([\w, ]+?) (\/.*)?$/.exec(line) ?? []
    if (number === undefined) continue
    const sort = path
      .split('/whole/')
      .at(-1)!
      .replaceAll(/[\da-f]{3,}|\d+/g, 'N')
    const kind = `${what} ${sort}`
    kinds.set(kind, [...(kinds.get(kind) ?? []), Number(number)])
  }
  const chosen = [...kinds].flatMap(([kind, points], i) => {
    const every = /^(step|rename|fdatasync journal)/.test(kind) ? 2 : 8
    return i % every === 0 ? [points[0]!] : []
  })
  return [...new Set(chosen)].sort((x, y) => x - y)
}

const train = (output: string, env: Record<string, string> = {}) =>
  runCrashing(script, [compiledRoom('train'), JSON.stringify({ ...options, output })], { CRASH_UNDER: output, ...env })

/** What a finished run must be, however often it was interrupted: each sample once, trained on as often as the plan says. */
async function expectFinished(output: string, weights: Buffer, label: string): Promise<void> {
  expect(finalWeights(output).equals(weights), label).toBe(true)
  expect(
    (await metricLines(output)).map(({ step }) => step),
    label,
  ).toEqual([1, 2])
  expect(await replayRl(output), label).toEqual({
    iterations: 2,
    samples: 8,
    updates: 4,
    mismatches: [],
    notCompared: [],
  })
  const { status, journal } = await Run.read(output)
  expect(status, label).toBe('finished')
  for (const iteration of await journal.iterations()) {
    const records = (await journal.read(iteration)).map(({ record }) => record)
    const samples = records
      .filter(({ kind }) => kind === 'outcome')
      .map(({ promptId, sample }) => `${promptId} ${sample}`)
    expect(new Set(samples).size, `${label}: samples of iteration ${iteration}`).toBe(4)
    expect(samples.length, `${label}: samples of iteration ${iteration}`).toBe(4)
  }
  expect(readdirSync(join(output, 'checkpoints')), label).toEqual(['000004'])
}

test('killed at every write, rename, fsync, step and append, then resumed: the same weights to the bit', async () => {
  const parent = fresh('crashes')
  mkdirSync(parent)
  const whole = join(parent, 'whole')
  const files = { CRASH_COUNT: join(parent, 'count'), CRASH_LOG: join(parent, 'log') }
  expect(await train(whole, files)).toMatchObject({ code: 0, output: 'finished\n' })
  const weights = finalWeights(whole)
  await expectFinished(whole, weights, 'uninterrupted')
  const count = Number(readFileSync(files.CRASH_COUNT, 'utf8'))
  const reached = readFileSync(files.CRASH_LOG, 'utf8')
  for (const kind of ['write', 'write, half', 'rename', 'fsync', 'fdatasync', 'rm', 'step'])
    expect(reached, kind).toMatch(new RegExp(`^\\d+ ${kind} `, 'm'))

  const points = everyPoint ? Array.from({ length: count }, (_, i) => i + 1) : distinctPoints(reached.split('\n'))
  let next = 0
  let kills = 0
  const worker = async (): Promise<void> => {
    while (next < points.length) {
      const at = points[next++]!
      const output = join(parent, String(at))
      const killed = await train(output, { CRASH_AT: String(at) })
      // How appends are grouped depends on timing: the last few points may not be reached.
      if (killed.signal === 'SIGKILL') kills++
      else expect(killed, `point ${at}`).toMatchObject({ code: 0 })
      if (killed.signal === 'SIGKILL')
        expect((await start({ ...options, output }, { resume: true })).outcome, `point ${at}`).toBe('finished')
      await expectFinished(output, weights, `point ${at}`)
      rmSync(output, { recursive: true })
    }
  }
  await Promise.all([worker(), worker()])
  console.log(`killed at ${kills} of ${points.length} points (the run has ${count})`)
  expect(kills).toBeGreaterThan(points.length - (everyPoint ? 15 : 4))
}, 1_800_000)
