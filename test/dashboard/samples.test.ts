import { appendFileSync, cpSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type {
  DistributionsAnswer,
  FlagsAnswer,
  GroupsAnswer,
  SampleDetail,
  SamplesAnswer,
  TokensAnswer,
} from '../../src/dashboard/api.js'
import { Run } from '../../src/run/index.js'
import { AskedDashboard } from '../support/dashboard.js'
import { temporaryDirectory } from '../support/files.js'
import { smallRun, start } from '../support/rl.js'
import { identity } from '../support/run.js'
import { tokenizer, tokenizerPath } from '../support/tokenizers.js'

let asked: AskedDashboard
const runs = temporaryDirectory()

beforeAll(async () => {
  const options = {
    output: join(runs, 'rl'),
    iterations: 4,
    trainBatchSize: 4,
    klController: { kind: 'fixed', coef: 0.05 },
  }
  await start(await smallRun({ seed: 3, prompts: 6 }, options))
  asked = await AskedDashboard.over(runs)
  await asked.indexed('rl', 32)
})
afterAll(() => asked.close())

const samples = (query: string): Promise<SamplesAnswer> => asked.get(`/api/runs/rl/samples?${query}`)

test('samples are filtered, sorted, searched and paged', async () => {
  const all = await samples('limit=500')
  // 4 iterations of 2 prompts with 4 samples each.
  expect(all).toMatchObject({ total: 32, complete: true, index: { state: 'ready', samples: 32, problem: null } })
  expect(all.rows[0]!.iteration).toBe(3)
  const byReward = (await samples('sort=reward&order=descending&limit=500')).rows.map(({ reward }) => reward!)
  expect(byReward).toEqual([...byReward].sort((a, b) => b - a))
  const page = await samples('sort=reward&order=descending&limit=5&offset=3')
  expect(page.rows.map(({ reward }) => reward)).toEqual(byReward.slice(3, 8))
  const [best] = byReward
  expect(
    (await samples(`where=${encodeURIComponent(`iteration<2 reward<${best}`)}`)).rows.every(one => one.iteration < 2),
  ).toBe(true)
  const some = all.rows.find(({ response }) => response.trim().length > 3)!
  const part = some.response.trim().slice(0, 3)
  const found = await samples(`search=${encodeURIComponent(part.toUpperCase())}&limit=500`)
  const expected = all.rows.filter(({ prompt, response }) =>
    `${prompt}\n${response}`.toLowerCase().includes(part.toLowerCase()),
  )
  expect(found.rows.map(({ id }) => id).sort()).toEqual(expected.map(({ id }) => id).sort())
  expect(
    (await samples(`search=${encodeURIComponent('question 1')}`)).rows.every(({ prompt }) =>
      prompt.includes('Question 1'),
    ),
  ).toBe(true)
  expect((await asked.ask('/api/runs/rl/samples?where=colour%3Dred', { headers: asked.token })).status).toBe(400)
})

test('a sample is shown whole, with numbers for its tokens that are those of the training', async () => {
  const [row] = (await samples('where=iteration%3D1&sort=reward')).rows
  const path = `/api/runs/rl/samples/${encodeURIComponent(row!.id)}`
  const whole = await asked.get<SampleDetail>(path)
  expect(whole).toMatchObject({ id: row!.id, reward: row!.reward, trained: true, dropped: null })
  expect(whole.response).toContain(row!.response)
  const { tokens, numbers, missing } = await asked.get<TokensAnswer>(`${path}/tokens`)
  expect(tokens).toHaveLength(row!.length)
  expect(tokens.map(({ text }) => text).join('')).toBe(whole.response)
  expect(Object.keys(missing)).toEqual(['value'])
  for (const name of ['advantage', 'logprob', 'entropy', 'kl', 'gap', 'ratio'] as const)
    expect(numbers[name], name).toHaveLength(row!.length)
  const mean = numbers.kl!.reduce<number>((sum, kl) => sum + kl!, 0) / row!.length
  expect(mean).toBeCloseTo(row!.kl!, 5)
})

test('groups stand side by side, and distributions count every sample', async () => {
  const { groups, total, iterations } = await asked.get<GroupsAnswer>('/api/runs/rl/groups?iteration=2')
  expect({ total, iterations }).toEqual({ total: 2, iterations: { first: 0, last: 3 } })
  const rewards = groups[0]!.samples.map(({ reward }) => reward!)
  expect(rewards).toEqual([...rewards].sort((a, b) => b - a))
  const { rewards: map, groups: shares } = await asked.get<DistributionsAnswer>('/api/runs/rl/distributions?bins=4')
  expect(map.columns.flatMap(({ counts }) => counts).reduce((a, b) => a + b)).toBe(32)
  expect(shares.map(one => one.groups)).toEqual([2, 2, 2, 2])
})

test('flags and preferences are kept, filtered by and exported', async () => {
  const [first, second] = (await asked.get<GroupsAnswer>('/api/runs/rl/groups?iteration=0')).groups[0]!.samples
  await asked.posted('/api/runs/rl/flags', { id: first!.id, label: 'good', note: 'neat' })
  const pair = { first: first!.id, second: second!.id, better: 'second' }
  const { pairs, flags } = await asked.posted<FlagsAnswer>('/api/runs/rl/pairs', pair)
  expect(flags).toMatchObject([{ id: first!.id, label: 'good', note: 'neat' }])
  expect(pairs).toMatchObject([{ chosen: second!.id, rejected: first!.id }])
  expect((await samples('where=flagged%3Dyes')).rows.map(({ id }) => id)).toEqual([first!.id])
  const exported = await asked.ask('/api/runs/rl/export?what=pairs', { headers: asked.token })
  expect(JSON.parse(exported.text)).toMatchObject({ chosen: expect.stringContaining(second!.response) })
  const other = (await samples('where=iteration%3D1')).rows.find(({ promptId }) => promptId !== first!.promptId)!
  expect((await asked.post('/api/runs/rl/pairs', { ...pair, second: other.id })).status).toBe(400)
})

test('an answer without text is in no pair, because no training on preferences would take it', async () => {
  const directory = join(runs, 'silent')
  const run = await Run.create(directory, identity({ algorithm: 'grpo' }, { command: 'rl' }))
  cpSync(tokenizerPath, join(directory, 'tokenizer'), { recursive: true })
  const [promptId, promptIds] = ['row/0', Int32Array.of(20, 21)]
  await run.journal.append(0, { kind: 'prompt', promptId, ids: promptIds })
  // The first one ends at once.
  for (const [sample, responseIds] of [[tokenizer.eosId!], [30, 31, tokenizer.eosId!]].entries())
    await run.journal.append(0, {
      ...{ kind: 'outcome', promptId, sample, of: 'completed', requestId: 'r', seed: 1, promptIds },
      ...{
        responseIds: Int32Array.from(responseIds),
        finishReason: 'stop',
        logprobs: {},
        policyVersion: 0,
        versions: [],
      },
      timings: { startedMs: 0, finishedMs: 1, preemptions: 0 },
    })
  await run.close('stopped')
  await asked.indexed('silent', 2)
  const [silent, said] = ['0.0.row/0', '0.1.row/0'] as const
  for (const [first, second] of [
    [silent, said],
    [said, silent],
  ])
    expect(await asked.post('/api/runs/silent/pairs', { first, second, better: 'first' })).toMatchObject({
      ...{ status: 400, text: expect.stringContaining(`${silent} has no text`) },
    })
  // Another program may have written it.
  const pair = { time: new Date().toISOString(), pair: [silent, said], better: 'second' }
  appendFileSync(join(directory, 'flags.jsonl'), `${JSON.stringify(pair)}\n`)
  expect((await asked.get<FlagsAnswer>('/api/runs/silent/flags')).pairs).toHaveLength(1)
  const exported = await asked.ask('/api/runs/silent/export?what=pairs', { headers: asked.token })
  expect(exported).toMatchObject({ status: 200, text: '' })
})
