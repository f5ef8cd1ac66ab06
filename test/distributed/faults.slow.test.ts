import { mkdirSync } from 'node:fs'
import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { DistributedModel } from '../../src/distributed/index.js'
import { LocalModel } from '../../src/model/index.js'
import { type Child, startChild } from '../support/child.js'
import { compiledRoom } from '../support/compiled.js'
import { tinyDirectory } from '../support/distributed.js'
import { machinesProblem, twoMachines } from '../support/machines.js'
import { temporary } from '../support/models.js'
import { freePort, startRanks } from '../support/ranks.js'
import { readJournal, trainJournalled } from './children/journalled.mjs'

/** `npm run soak:ranks` tries more. */
const count = Number(process.env.WHETSTONE_FAULTS ?? 8)
const limitMs = 3000
/** After the limit, for what waits for a verdict, for the ends of processes, and for a busy machine. */
const slackMs = 7000
const [iterations, samples] = [24, 4]
const kinds = ['SIGKILL', 'SIGSTOP', 'network'] as const
const machinesMissing = machinesProblem()

let model: string
let expected: number[]
beforeAll(async () => {
  model = await tinyDirectory('language')
  const directory = temporary('whole')
  mkdirSync(directory, { recursive: true })
  const local = await LocalModel.load(model, { role: 'language', dtype: 'float32' })
  await trainJournalled(local, { directory, iterations, samples })
  local.dispose()
  expected = readJournal(directory).map(({ norm }) => norm)
})
afterAll(() => {
  if (machinesMissing) console.info(`network loss was not tried: ${machinesMissing}`)
})

/** Always the same numbers for the same seed. */
const random = (seed: number): number => {
  const x = Math.sin(12.9898 * (seed + 1)) * 43758.5453
  return x - Math.floor(x)
}

interface Job {
  readonly children: readonly Child[]
  /** Cuts the machine of a rank off. */
  cut(rank: number): void
}

async function startJob(size: number, directory: string, on: 'one machine' | 'two machines'): Promise<Job> {
  const machines = on === 'two machines' ? twoMachines() : undefined
  const machineOf = (rank: number) => machines?.[rank === 0 ? 0 : 1]
  const host = machineOf(0)?.address ?? '127.0.0.1'
  const port = machines ? 29_500 : await freePort()
  const children = Array.from({ length: size }, (_, rank) => {
    const address = machineOf(rank)?.address ?? '127.0.0.1'
    const store = { host, port, served: rank === 0 ? 'here' : 'elsewhere' }
    const options = { ...{ rank, size, store, address, device: 'cpu', backend: 'gloo', job: 'faults' }, limitMs }
    const work = { model, directory, iterations, samples, options: { role: 'language', dtype: 'float32' } }
    const args = [compiledRoom('distributed'), JSON.stringify({ ...options, joinLimitMs: 60_000, work })]
    return startChild(new URL('./children/job.mjs', import.meta.url), args, { enter: machineOf(rank)?.enter ?? [] })
  })
  return { children, cut: rank => machineOf(rank)!.cut() }
}

async function tryFault(number: number): Promise<void> {
  const kind = kinds[number % kinds.length]!
  const rank = Math.floor(number / kinds.length) % 3
  const size = rank === 2 && kind !== 'network' ? 3 : 2
  const hit = Math.min(rank, size - 1)
  const directory = temporary(`faults-${number}`)
  mkdirSync(directory, { recursive: true })
  const { children, cut } = await startJob(size, directory, kind === 'network' ? 'two machines' : 'one machine')
  await children[0]!.waitFor(new RegExp(`finished ${1 + Math.floor(12 * random(number))}\\n`))
  await delay(40 * random(number + 0.5))
  const began = performance.now()
  if (kind === 'network') cut(hit)
  else children[hit]!.process.kill(kind)
  const others = children.filter((_, i) => kind === 'network' || i !== hit)
  const ends = await Promise.all(others.map(({ ended }) => ended))
  const tookMs = performance.now() - began
  const words = ends.map(({ output }) => output).join('\n')
  const finishedBefore = readJournal(directory).length
  await children[hit]!.kill()
  expect(finishedBefore, 'the fault came after the end').toBeLessThan(iterations)
  expect(tookMs, words).toBeLessThan(kind === 'SIGKILL' ? slackMs : limitMs + slackMs)
  for (const { code } of ends) expect(code, words).toBe(1)
  if (hit > 0)
    expect(ends[0]!.stderr).toMatch(
      new RegExp(
        `rank ${hit} \\(.*, cpu, process \\d+\\) ${kind === 'SIGKILL' ? 'is gone' : 'has given no sign of life for 3 s'}`,
      ),
    )
  else if (kind !== 'network') expect(words).toMatch(/controller \(rank 0\)|rank 0 is gone/)
  // With one rank, or as before.
  const { world } = await startRanks(number % 4 === 3 ? 2 : 1)
  const again = await DistributedModel.load<'language'>(world, model, { role: 'language', dtype: 'float32' })
  await trainJournalled(again, { directory, iterations, samples })
  await world.close()
  const journal = readJournal(directory)
  expect(journal.flatMap(one => one.samples)).toEqual(Array.from({ length: iterations * samples }, (_, k) => k))
  for (const [i, { norm }] of journal.entries()) expect(norm / expected[i]!).toBeCloseTo(1, 4)
}

for (let number = 0; number < count; number++) {
  const kind = kinds[number % kinds.length]!
  test.skipIf(kind === 'network' && machinesMissing !== undefined)(
    `fault ${number} (${kind}): found in time, named, resumed, every sample once`,
    { timeout: 120_000 },
    () => tryFault(number),
  )
}
