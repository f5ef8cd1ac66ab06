/** The same samples in a terminal: `samples` and `watch`, and what a run saves of them itself. */
import { readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, expect, test } from 'vitest'
import { picture } from '../../src/cli/watch.js'
import type { SampleRow, SamplesAnswer, TokensAnswer } from '../../src/dashboard/api.js'
import { SampleView } from '../../src/dashboard/index.js'
import { Run } from '../../src/run/index.js'
import { saveTrajectories } from '../../src/train/rl/trajectories.js'
import { cli } from '../support/cli.js'
import { AskedDashboard } from '../support/dashboard.js'
import { jsonLines, temporaryDirectory } from '../support/files.js'
import { smallRun, start } from '../support/rl.js'

const run = join(temporaryDirectory(), 'run')

beforeAll(async () => {
  const saved = { saveTrajectories: true, numTrajectoriesToSave: 3, klController: { kind: 'fixed', coef: 0.05 } }
  // With two updates an iteration, the run scores its rollouts first, and records that.
  await start(await smallRun({ seed: 3, prompts: 6 }, { output: run, iterations: 3, trainBatchSize: 4, ...saved }))
})

async function listed(...args: string[]): Promise<SampleRow[]> {
  const { code, stdout, stderr } = await cli(['samples', run, '--json', ...args])
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' })
  return stdout
    .split('\n')
    .filter(line => line !== '')
    .map(line => JSON.parse(line) as SampleRow)
}

test('samples of a step are listed in a terminal: sorted, filtered, searched', async () => {
  const { code, stdout } = await cli(['samples', run, '--step', '1', '--sort', 'reward'])
  expect(code).toBe(0)
  // 2 prompts with 4 samples each.
  expect(stdout.match(/^iteration 1 {2}/gm)).toHaveLength(8)
  expect(stdout).toMatch(/^8 of 8 samples$/m)
  const rewards = (await listed('--step', '1', '--sort', 'reward')).map(({ reward }) => reward!)
  expect(rewards).toEqual([...rewards].sort((a, b) => b - a))
  const up = (await listed('--step', '1', '--sort', 'reward', '--order', 'ascending')).map(({ reward }) => reward!)
  expect(up).toEqual([...rewards].reverse())
  const all = await listed('--limit', '500')
  expect(all).toHaveLength(24)
  const above = await listed('--limit', '500', '--where', `reward>${rewards[4]} iteration!=0`)
  expect(above.map(({ promptId, sample, iteration }) => `${iteration} ${promptId} ${sample}`).sort()).toEqual(
    all
      .filter(({ reward, iteration }) => Math.fround(reward!) > Math.fround(rewards[4]!) && iteration !== 0)
      .map(({ promptId, sample, iteration }) => `${iteration} ${promptId} ${sample}`)
      .sort(),
  )
  expect((await listed('--search', 'QUESTION')).length).toBe(20)
})

test('mistakes in a terminal are told, with what is expected', async () => {
  expect(await cli(['samples', run, '--where', 'colour=red'])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('colour'),
  })
  expect(await cli(['samples', run, '--sort', 'colour'])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('promptLength'),
  })
  const nowhere = join(temporaryDirectory(), 'nowhere')
  for (const verb of ['samples', 'watch', 'report'])
    expect(await cli([verb, nowhere]), verb).toMatchObject({ code: 1, stderr: expect.stringContaining('not a run') })
})

test('a run is watched: status, curves, the best and the worst sample', async () => {
  const { code, stdout } = await cli(['watch', run])
  expect(code).toBe(0)
  expect(stdout).toMatch(/^run: rl, finished, iteration 3$/m)
  expect(stdout).toMatch(/^reward\/mean +\S+ {2}[▁▂▃▄▅▆▇█]{3}$/m)
  const rewards = (await listed('--step', '2', '--sort', 'reward')).map(({ reward }) => reward!)
  const shown = (name: string): number => Number(new RegExp(`^${name}: .* reward (\\S+)`, 'm').exec(stdout)![1])
  expect(shown('best')).toBeCloseTo(rewards[0]!, 3)
  expect(shown('worst')).toBeCloseTo(rewards.at(-1)!, 3)
})

test('the picture of a run fits into terminals of any width', async () => {
  const samples = await SampleView.open(run)
  const view = await Run.read(run)
  const named = { ...view, directory: join(run, 'a name of a run that is longer than the terminal is wide') }
  for (const columns of [40, 80, 200]) {
    const lines = (await picture(named, samples, columns)).split('\n')
    expect(lines.filter(line => line.length > columns)).toEqual([])
    const curve = lines.find(line => line.startsWith('reward/mean'))!
    expect(curve).toMatch(/^reward\/mean +\S+ {2}[▁▂▃▄▅▆▇█]{3}$/)
    expect(lines.filter(line => /^(best|worst): /.test(line))).toHaveLength(2)
  }
  await samples.close()
})

test('an iteration that trained on nothing saves no trajectory, and no empty line', async () => {
  const at = temporaryDirectory()
  await saveTrajectories({
    run: at,
    iteration: 7,
    experiences: [],
    logprobs: [],
    entropies: [],
    config: { temperature: 1 },
    count: 3,
  })
  expect(readFileSync(join(at, 'trajectories/000007.jsonl'), 'utf8')).toBe('')
})

test('a run whose rollouts were not scored: KL by the engine, and saved trajectories with all numbers', async () => {
  const at = join(temporaryDirectory(), 'run')
  const saved = { saveTrajectories: true, numTrajectoriesToSave: 3, klController: { kind: 'fixed', coef: 0.05 } }
  // One update an iteration. Its rate moves the policy from the reference.
  await start(await smallRun({ seed: 3, prompts: 6 }, { output: at, iterations: 3, optimizer: { lr: 0.01 }, ...saved }))
  const logged = jsonLines(join(at, 'logs/metrics.jsonl')) as { values: Record<string, number> }[]
  const asked = await AskedDashboard.over(at)
  const mean = (values: readonly (number | null)[]): number =>
    values.reduce<number>((sum, value) => sum + value!, 0) / values.length
  try {
    for (const iteration of [0, 1, 2]) {
      const { rows } = await asked.get<SamplesAnswer>(`/api/runs/run/samples?where=iteration%3D${iteration}`)
      expect(mean(rows.map(({ kl }) => kl))).toBeCloseTo(logged[iteration]!.values['kl/mean']!, 3)
      expect(rows.every(({ entropy, gap }) => entropy === null && gap === null)).toBe(true)
      const trajectories = jsonLines(join(at, `trajectories/00000${iteration}.jsonl`)) as Record<string, number[]>[]
      for (const one of trajectories) {
        const row = rows.find(({ promptId, sample }) => `${promptId} ${sample}` === `${one.prompt_id} ${one.sample}`)!
        const numbers = (await asked.get<TokensAnswer>(`/api/runs/run/samples/${encodeURIComponent(row.id)}/tokens`))
          .numbers
        for (const name of ['advantage', 'logprob', 'entropy', 'kl', 'ratio', 'gap'] as const)
          expect(numbers[name], name).toHaveLength(row.length)
        expect(mean(numbers.kl!)).toBeCloseTo(row.kl!, 3)
        expect(numbers.entropy!.every(value => value! > 0)).toBe(true)
      }
    }
    rmSync(join(at, 'trajectories'), { recursive: true })
    const [row] = (await asked.get<SamplesAnswer>('/api/runs/run/samples?where=iteration%3D2')).rows
    const found = await asked.get<TokensAnswer>(`/api/runs/run/samples/${encodeURIComponent(row!.id)}/tokens`)
    const why = 'of the engine: the trainer did not score this rollout'
    expect(found.notes).toEqual({ logprob: why, kl: why })
    expect(mean(found.numbers.kl!)).toBeCloseTo(row!.kl!, 5)
    expect(Object.keys(found.missing).sort()).toEqual(['entropy', 'gap', 'ratio', 'value'])
  } finally {
    await asked.close()
  }
})

test('saved trajectories have the numbers that are derived from the journal', async () => {
  const files = readdirSync(join(run, 'trajectories')).sort()
  expect(files).toEqual(['000000.jsonl', '000001.jsonl', '000002.jsonl'])
  const saved = jsonLines(join(run, 'trajectories', files[1]!)) as { prompt_id: string; sample: number }[]
  expect(saved).toHaveLength(3)
  expect(readFileSync(join(run, 'trajectories', files[1]!), 'utf8').endsWith('\n')).toBe(true)
  const asked = await AskedDashboard.over(run)
  try {
    const { rows } = await asked.get<SamplesAnswer>('/api/runs/run/samples?where=iteration%3D1')
    const ids = saved.map(
      one => rows.find(({ promptId, sample }) => promptId === one.prompt_id && sample === one.sample)!.id,
    )
    const tokens = (id: string): Promise<TokensAnswer> =>
      asked.get(`/api/runs/run/samples/${encodeURIComponent(id)}/tokens`)
    const before = await Promise.all(ids.map(tokens))
    rmSync(join(run, 'trajectories'), { recursive: true })
    for (const [place, id] of ids.entries()) {
      const derived = await tokens(id)
      const given = before[place]!
      expect([given.source, derived.source]).toEqual(['trajectory', 'replay'])
      expect(given.tokens).toEqual(derived.tokens)
      for (const name of ['advantage', 'logprob', 'entropy', 'kl', 'gap', 'ratio', 'return'] as const) {
        const values = derived.numbers[name]!
        expect(given.numbers[name], name).toHaveLength(values.length)
        for (const [t, value] of values.entries()) expect(given.numbers[name]![t], name).toBeCloseTo(value!, 5)
      }
    }
  } finally {
    await asked.close()
  }
})
