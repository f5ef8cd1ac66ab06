/** One training with two ranks as it is typed, which is stopped in every way there is: it goes on each time, to the same bits. */
import { cpSync, existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { beforeAll, expect, test, vi } from 'vitest'
import { stringify } from 'yaml'
import { type Child, type Ended, runWhetstone, startWhetstone } from '../support/child.js'
import { jsonLines, temporaryDirectory } from '../support/files.js'
import { letterReward, promptFile } from '../support/rl.js'
import { modelDirectory } from '../support/tiny-model.js'

const iterations = 28
const [prompts, samples] = [2, 4]
const folder = temporaryDirectory()
const env = { WHETSTONE_RANK_LIMIT: '10' }
const command = (output: string, ...more: string[]) => ['grpo', '--config', 'run.yaml', '--output', output, ...more]
const options = { cwd: folder, env, timeout: 120_000 }
const stepsOf = (run: string): number => {
  const path = join(folder, run, 'logs/metrics.jsonl')
  return existsSync(path) ? readFileSync(path, 'utf8').split('\n').length - 1 : 0
}
const weights = (run: string): Buffer => readFileSync(join(folder, run, 'final_model/model.safetensors'))

beforeAll(async () => {
  const shared = { model: await modelDirectory(1, { context: 64 }), device: 'cpu', devices: 2, chatTemplate: 'none' }
  const sizes = { iterations, rolloutBatchSize: prompts, nSamplesPerPrompt: samples, maxNewTokens: 12, saveSteps: 2 }
  const rest = { data: promptFile(12), rewards: letterReward, optimizer: { lr: 1e-3, eps: 1e-3 } }
  writeFileSync(join(folder, 'run.yaml'), stringify({ ...shared, ...sizes, ...rest }))
})

/** The other ranks of a command. */
const ranksOf = ({ process: { pid } }: Child): number[] =>
  readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8')
    .split(' ')
    .map(Number)
    .filter(child => child > 0 && readFileSync(`/proc/${child}/cmdline`, 'utf8').includes('rank-process'))

function alive(pid: number): boolean {
  try {
    // One that has ended and was not waited for by its parent is a zombie.
    return !/^State:\s+[ZX]/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'))
  } catch {
    return false
  }
}

const ended = (pids: readonly number[], timeout: number): Promise<boolean> =>
  vi.waitUntil(() => !pids.some(alive), { timeout, interval: 50 })

/** Starts or resumes the run, lets it make some steps, and stops it somewhere in an iteration. */
async function stopped(run: string, stop: (child: Child, ranks: readonly number[]) => void): Promise<Ended> {
  const before = stepsOf(run)
  const child = startWhetstone(command(run, ...(before > 0 ? ['--resume'] : [])), options)
  await vi.waitUntil(() => stepsOf(run) > before + 2 || child.process.exitCode !== null, { timeout: 60_000 })
  const ranks = ranksOf(child)
  expect(ranks.length, child.printed.output).toBe(1)
  await delay(80 * Math.random())
  stop(child, ranks)
  const result = await child.ended
  await ended(ranks, 10_000)
  expect(stepsOf(run)).toBeLessThan(iterations)
  return result
}

/** Every sample of every iteration is in the journal once, and is what was trained on. */
async function expectOnce(run: string): Promise<void> {
  const directory = join(folder, run, 'journal')
  const made = readdirSync(directory)
    .flatMap(name => jsonLines<{ record: JournalRecord }>(join(directory, name)))
    .filter(({ record }) => record.kind === 'outcome')
    .map(({ record: { requestId, promptId, sample } }) => `${requestId} ${promptId} ${sample}`)
  const count = iterations * prompts * samples
  expect([made.length, new Set(made).size]).toEqual([count, count])
  const replayed = await runWhetstone(['replay', run], options)
  expect(replayed.stdout, replayed.output).toBe(
    `${run}: ${iterations} iterations, ${count} samples and ${iterations} optimiser steps recomputed, all equal to the training batches\n`,
  )
}
interface JournalRecord {
  readonly kind: string
  readonly requestId?: string
  readonly promptId?: string
  readonly sample?: number
}

test.skipIf(process.platform !== 'linux')('Ctrl-C, SIGTERM, a killed rank, kill -9 of rank 0', async () => {
  const whole = await runWhetstone(command('whole'), options)
  expect(whole.code, whole.output).toBe(0)

  // A terminal sends Ctrl-C to the ranks as well.
  const interrupted = await stopped('run', (child, ranks) => {
    for (const pid of [child.process.pid!, ...ranks]) process.kill(pid, 'SIGINT')
  })
  expect(interrupted.code, interrupted.output).toBe(130)
  expect(interrupted.stderr).toContain('Interrupted. The training is saved in')
  const terminated = await stopped('run', child => child.process.kill('SIGTERM'))
  expect(terminated.code, terminated.output).toBe(143)

  const failed = await stopped('run', (_, [rank]) => process.kill(rank!, 'SIGKILL'))
  expect(failed.code, failed.output).toBe(1)
  expect(failed.stderr).toMatch(/rank 1 \(.*, cpu, process \d+\) was ended by SIGKILL/)
  expect(failed.stderr).toContain('A training goes on from its run directory with --resume')
  cpSync(join(folder, 'run'), join(folder, 'alone'), { recursive: true })

  const gone = await stopped('run', child => child.process.kill('SIGKILL'))
  expect(gone.signal).toBe('SIGKILL')

  const resumed = await runWhetstone(command('run', '--resume'), options)
  expect(resumed.code, resumed.output).toBe(0)
  expect(weights('run')).toEqual(weights('whole'))
  const alone = await runWhetstone(command('alone', '--resume', '--devices', '1'), options)
  expect(alone.code, alone.output).toBe(0)
  for (const run of ['run', 'alone']) await expectOnce(run)
})
