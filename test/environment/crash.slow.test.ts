/** Episodes of a process that is killed at every write of their journal, and runs that are killed among their episodes. */
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import * as environment from '../../src/environment/index.js'
import { Journal, Run } from '../../src/run/index.js'
import * as text from '../../src/text/index.js'
import { replayRl } from '../../src/train/rl/index.js'
import { IterationJournal } from '../../src/train/rl/iteration-journal.js'
import { runCrashing } from '../support/child.js'
import { compiled, compiledRoom } from '../support/compiled.js'
import { familyDirectory } from '../support/episodes.js'
import { fresh } from '../support/files.js'
import { finalWeights, smallRun, start } from '../support/rl.js'
// @ts-expect-error: JavaScript, for a process of its own
import { runAll } from './children/episodes.mjs'

const rooms = { environment, text, journal: { IterationJournal, Journal } }
const dist = join(compiled(), 'dist')
const tokenizerPath = await familyDirectory('qwen2_5')
const callsOf = (directory: string): string[] =>
  existsSync(join(directory, 'calls')) ? readFileSync(join(directory, 'calls'), 'utf8').trim().split('\n') : []

async function records(directory: string): Promise<environment.EpisodeJournalRecord[]> {
  const found = await new Journal(join(directory, 'journal')).read(0)
  return found.map(({ record }) => record as unknown as environment.EpisodeJournalRecord)
}

/** `CRASH_POINTS=all` takes every point for every effect. */
const everyPoint = process.env.CRASH_POINTS === 'all'
let log: string[] | undefined

/** Every record is written in half, or whole and not yet on the disk, for one of the three effects. */
async function pointsOf(effect: string, child: Child): Promise<number[]> {
  if (!log) {
    const directory = fresh('log')
    const path = join(directory, 'log')
    mkdirSync(directory)
    expect(await child(directory, { CRASH_LOG: path })).toMatchObject({ code: 0 })
    log = readFileSync(path, 'utf8').trim().split('\n')
  }
  const numbers = (pattern: RegExp): number[] =>
    log!.flatMap(line => (pattern.test(line) ? [Number.parseInt(line, 10)] : []))
  if (everyPoint) return numbers(/^/)
  const [half, whole] = [numbers(/^\d+ (write|appendFile), half/), numbers(/^\d+ fdatasync/)]
  const turn = ['pure', 'idempotent', 'once'].indexOf(effect)
  return half.map((point, i) => (i % 2 === 0 ? point : (whole[i] ?? point))).filter((_, i) => i % 3 === turn)
}

type Child = (directory: string, env: Record<string, string>) => ReturnType<typeof runCrashing>

test.each(['pure', 'idempotent', 'once'] as const)(
  'killed at every write of its journal, then resumed: %s',
  async effect => {
    const script = new URL('./children/episodes.mjs', import.meta.url)
    const child: Child = (directory, env) => {
      mkdirSync(directory, { recursive: true })
      return runCrashing(script, [dist, tokenizerPath, directory, effect], {
        CRASH_UNDER: join(directory, 'journal'),
        ...env,
      })
    }
    const parent = fresh('episodes')
    const whole = join(parent, 'whole')
    mkdirSync(whole, { recursive: true })
    const { outcomes: expected } = await runAll(rooms, { tokenizerPath, directory: whole, effect })
    const complete = await records(whole)
    expect(complete.filter(({ kind }) => kind === 'turn')).toHaveLength(6)
    const points = await pointsOf(effect, child)
    for (const at of points) {
      const directory = join(parent, String(at))
      const killed = await child(directory, { CRASH_AT: String(at) })
      expect(killed, `point ${at}`).toMatchObject({ signal: 'SIGKILL' })
      const before = await records(directory).catch(() => [])
      const made = callsOf(directory)
      const known = before.filter(({ kind }) => kind === 'turn').length
      const ended = before.filter(({ kind }) => kind === 'episode').length
      const lost = before.some(
        one => one.kind === 'call' && !before.some(end => end.kind === 'episode' && end.sample === one.sample),
      )
      const { outcomes, sampled } = await runAll(rooms, { tokenizerPath, directory, effect })
      const calls = callsOf(directory).slice(made.length)
      const label = `point ${at}`
      const finished = before.flatMap(one => (one.kind === 'episode' ? [one.sample] : []))
      // Finished episodes are not run again: none of their calls is made, none of their turns is sampled.
      for (const one of complete)
        if (one.kind === 'call' && finished.includes(one.sample)) expect(calls, label).not.toContain(one.id)
      if (effect === 'once' && lost) {
        // The session is given up: a call that may have been delivered is never made again.
        for (const id of made) expect(calls, label).not.toContain(id)
        expect(sampled, label).toBe(6 - 3 * ended)
        expect(outcomes, label).toContain('"attempt":1')
      } else {
        // The same tokens and results as without the crash, and no recorded turn is sampled again.
        expect(outcomes, label).toBe(expected)
        expect(sampled, label).toBe(6 - known)
      }
      if (effect === 'pure') {
        const answered = before.filter(({ kind }) => kind === 'call-result').length
        expect(calls, label).toHaveLength(4 - answered)
      }
      rmSync(directory, { recursive: true })
    }
  },
  300_000,
)

test('a run that is killed among its episodes ends with the same weights, and its replay opens no session', async () => {
  const file = join(fresh('environment'), 'environment.mjs')
  mkdirSync(dirname(file))
  const opened = `${file}.opened`
  writeFileSync(
    file,
    `import { appendFileSync } from 'node:fs'
export default { name: 'two turns', version: '1', open: async ({ messages }, { promptId, sample }) => {
  appendFileSync(${JSON.stringify(opened)}, promptId + ' ' + sample + '\\n')
  return {
    start: async () => messages,
    step: async ({ turn, text }) => turn === 1 ? { kind: 'done', reward: text.length / 10 } : { kind: 'go-on', messages: [{ role: 'user', content: 'More.' }], reward: text.length / 20 },
  }
} }
`,
  )
  const options = await smallRun(
    { seed: 3, prompts: 4, layers: 1, context: 128 },
    {
      algorithm: 'grpo',
      chatTemplate: 'auto',
      rewards: undefined,
      environment: file,
      episode: { turnTokens: 3 },
      nSamplesPerPrompt: 2,
      maxNewTokens: 8,
      iterations: 2,
      trainBatchSize: 2,
      keepCheckpoints: 1,
      saveSteps: 1,
    },
  )
  const script = new URL('../train/rl/children/small-rl.mjs', import.meta.url)
  const train = (output: string, env: Record<string, string> = {}) =>
    runCrashing(script, [compiledRoom('train'), JSON.stringify({ ...options, output })], {
      CRASH_UNDER: output,
      ...env,
    })
  const parent = fresh('runs')
  mkdirSync(parent)
  const log = join(parent, 'log')
  const whole = join(parent, 'whole')
  expect(await train(whole, { CRASH_LOG: log })).toMatchObject({ code: 0, output: 'finished\n' })
  const weights = finalWeights(whole)
  const lines = readFileSync(log, 'utf8').split('\n')
  const of = (pattern: RegExp): number[] =>
    lines.flatMap(line => (pattern.test(line) ? [Number.parseInt(line, 10)] : []))
  const journal = of(/^\d+ fdatasync .*journal/)
  const steps = of(/^\d+ step/)
  // Among the turns of the first iteration, in the middle of an iteration's updates, and among later turns.
  const points = [journal[2]!, journal[5]!, steps[1]! + 2, journal.at(-4)!]
  let kills = 0
  for (const at of points) {
    const output = join(parent, String(at))
    const killed = await train(output, { CRASH_AT: String(at) })
    if (killed.signal === 'SIGKILL') kills++
    rmSync(opened, { force: true })
    const ended = (await endedEpisodes(output)).length
    expect((await start({ ...options, output }, { resume: true })).outcome, `point ${at}`).toBe('finished')
    const again = existsSync(opened) ? readFileSync(opened, 'utf8').trim().split('\n').length : 0
    expect(again, `point ${at}`).toBe(8 - ended)
    expect(finalWeights(output).equals(weights), `point ${at}`).toBe(true)
    rmSync(opened, { force: true })
    expect(await replayRl(output), `point ${at}`).toMatchObject({
      iterations: 2,
      samples: 8,
      mismatches: [],
      notCompared: [],
    })
    expect(existsSync(opened), 'a session in a replay').toBe(false)
  }
  expect(kills).toBeGreaterThan(2)
}, 120_000)

async function endedEpisodes(output: string): Promise<unknown[]> {
  const { journal } = await Run.read(output)
  const found: unknown[] = []
  for (const iteration of await journal.iterations())
    for (const { record } of await journal.read(iteration)) if (record.kind === 'episode') found.push(record)
  return found
}
