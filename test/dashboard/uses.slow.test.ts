/** What is made of the samples of a run: other rewards of them, and data for another training. */
import { existsSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import type { GroupsAnswer, RescoreAnswer, SampleDetail } from '../../src/dashboard/api.js'
import { openDataset } from '../../src/data/index.js'
import { dpo, grpo, Tokenizer } from '../../src/index.js'
import { startWhetstone } from '../support/child.js'
import { AskedDashboard } from '../support/dashboard.js'
import { jsonLines, temporaryDirectory, written } from '../support/files.js'
import { modelDirectory } from '../support/rl.js'

const runs = temporaryDirectory()
const output = join(runs, 'rl')
/** A number for all that a reward is told. */
const told = written(
  'told.mjs',
  `import { createHash } from 'node:crypto'
export default ({ sequence, images, videos, audios, ...input }) => {
  const text = JSON.stringify([input, [...sequence.ids], [...sequence.origin]])
  return createHash('sha256').update(text).digest().readUInt32BE() / 2 ** 32
}
`,
)
const broken = written('broken.mjs', 'export default ({ response }) => (response.length\n')
const throwing = written('throwing.mjs', "export default () => { throw new Error('not today') }\n")
const others = written('others.mjs', 'export default ({ row, sample }) => row.nr * 10 + sample\n')
const endless = written('endless.mjs', 'export default () => { for (;;); }\n')
let asked: AskedDashboard

beforeAll(async () => {
  const data = Array.from({ length: 4 }, (_, nr) => ({ prompt: `What is ${nr} + ${nr}?`, answer: String(2 * nr), nr }))
  const rows = join(runs, 'rows.jsonl')
  writeFileSync(rows, data.map(row => JSON.stringify(row)).join('\n'))
  await grpo({
    ...{ model: await modelDirectory(1, { context: 96 }), data: rows, rewards: told, output, device: 'cpu' },
    ...{ chatTemplate: 'chatml', systemPrompt: 'Be short.', iterations: 2, rolloutBatchSize: 2, nSamplesPerPrompt: 3 },
    ...{ maxNewTokens: 6, loggers: [], optimizer: { lr: 1e-3 } },
  })
  asked = await AskedDashboard.over(runs, { rewards: [broken, throwing, others, endless] })
  await asked.indexed('rl', 12)
})
afterAll(() => asked.close())

const rescore = (rewards: string) => asked.posted<RescoreAnswer>('/api/runs/rl/rescore', { rewards })

test('a reward is told the same of a sample when it is scored again', async () => {
  const again = await rescore(told)
  expect(again).toMatchObject({ matched: 12, changed: 0, otherBest: 0, note: null })
  expect(again.samples.map(({ after }) => after)).toEqual(again.samples.map(({ before }) => before))
  expect(new Set(again.samples.map(({ after }) => after)).size).toBe(12)
  const other = await rescore(others)
  expect(other.changed).toBe(12)
  expect(new Set(other.samples.map(({ after }) => after! % 10))).toEqual(new Set([0, 1, 2]))
})

test('a reward file that is broken, or throws, is told; the run and the server go on', async () => {
  const refused = await asked.post('/api/runs/rl/rescore', { rewards: broken })
  expect(refused).toMatchObject({ status: 400, text: expect.stringContaining('broken.mjs') })
  const thrown = await rescore(throwing)
  expect(thrown.mean.after).toBeNull()
  for (const { after, failure } of thrown.samples)
    expect([after, failure]).toEqual([null, expect.stringContaining('not today')])
  expect((await rescore(told)).changed).toBe(0)
})

test.runIf(process.platform === 'linux')(
  'a reward that never answers ends with its page, and holds nothing',
  async () => {
    const body = JSON.stringify({ rewards: endless })
    const headers = { ...asked.token, 'content-type': 'application/json', 'content-length': body.length }
    const page = request({ port: asked.dashboard.port, path: '/api/runs/rl/rescore', method: 'POST', headers })
    page.on('error', () => {})
    page.end(body)
    const both = await scoring()
    await asked.get('/api/runs')
    expect((await rescore(told)).changed).toBe(0)
    page.destroy()
    await vi.waitFor(() => expect(both.filter(isThere)).toEqual([]), { timeout: 30_000, interval: 50 })
    expect((await rescore(told)).changed).toBe(0)
  },
)

test.runIf(process.platform === 'linux')('a process that ends before it has scored is told', async () => {
  const answer = asked.post('/api/runs/rl/rescore', { rewards: endless })
  const both = await scoring()
  process.kill(both[0]!, 'SIGKILL')
  expect(await answer).toMatchObject({ status: 500, text: expect.stringContaining('was ended by SIGKILL') })
  await vi.waitFor(() => expect(both.filter(isThere)).toEqual([]), { timeout: 30_000, interval: 50 })
})

const isThere = (id: number): boolean => existsSync(`/proc/${id}`)

const scoring = () =>
  vi.waitFor(
    () => {
      const both = processes()
      expect(both).toHaveLength(2)
      return both
    },
    { timeout: 30_000, interval: 50 },
  )

/** What scores samples again, and what runs its reward file: those that came of this process, the oldest first. */
function processes(): number[] {
  const stats = readdirSync('/proc').flatMap(name => {
    try {
      const fields = readFileSync(`/proc/${name}/stat`, 'utf8').split(') ')[1]!.split(' ')
      const command = readFileSync(`/proc/${name}/cmdline`, 'utf8')
      return [{ id: Number(name), parent: Number(fields[1]), command }]
    } catch {
      return []
    }
  })
  const first = stats.filter(one => one.parent === process.pid && one.command.includes('rescore-process'))
  const rewards = stats.filter(one => first.some(({ id }) => id === one.parent))
  return [...first, ...rewards].map(({ id }) => id)
}

test.runIf(process.platform === 'linux')('every thread of the command gives way to a training', async () => {
  const child = startWhetstone(['dashboard', runs, '--port', '0'])
  const [, url, token] = await child.waitFor(/^(http:\S+)\/#token=(\S+)$/m)
  const answer = await fetch(`${url}/api/runs/rl/samples`, { headers: { authorization: `Bearer ${token}` } })
  expect(answer.status).toBe(200)
  const tasks = `/proc/${child.process.pid}/task`
  // Behind the name of the program, which may have spaces, the priority is the 17th field.
  const priorities = readdirSync(tasks).map(
    id => readFileSync(`${tasks}/${id}/stat`, 'utf8').split(') ')[1]!.split(' ')[16],
  )
  // Those of V8, of Node and of the samples are among them.
  expect(priorities.length).toBeGreaterThan(4)
  expect(new Set(priorities)).toEqual(new Set(['10']))
  await child.kill()
})

test('without the data of the run, it is said what a reward was not told', async () => {
  renameSync(join(runs, 'rows.jsonl'), join(runs, 'elsewhere.jsonl'))
  const answer = await rescore(told)
  expect(answer).toMatchObject({
    changed: 12,
    note: expect.stringMatching(/no label, target and columns .*rows\.jsonl/),
  })
  renameSync(join(runs, 'elsewhere.jsonl'), join(runs, 'rows.jsonl'))
})

test('pairs are rows of a training on preferences, with the ids that the run had', async () => {
  const { groups } = await asked.get<GroupsAnswer>('/api/runs/rl/groups?iteration=1')
  for (const { samples } of groups) {
    const [first, second] = samples
    await asked.posted('/api/runs/rl/pairs', { first: first!.id, second: second!.id, better: 'second' })
  }
  const exported = await asked.ask('/api/runs/rl/export?what=pairs', { headers: asked.token })
  const data = written('pairs.jsonl', exported.text)
  const rows = jsonLines(data) as { prompt: unknown; chosen: string }[]
  expect(rows).toHaveLength(2)
  const { id } = groups[0]!.samples[1]!
  const { record, response } = await asked.get<SampleDetail>(`/api/runs/rl/samples/${encodeURIComponent(id)}`)
  const tokenizer = await Tokenizer.load(join(output, 'tokenizer'))
  const dataset = await openDataset('preferences', data, {
    ...{ seed: 0, shuffle: false, validationShare: 0, trainOn: 'assistant', maxBadRows: 0, chatTemplate: 'auto' },
    ...{ baseDirectory: runs },
  })
  const [example] = await dataset.train(tokenizer).take(2)
  const { outcome } = record as { outcome: { promptIds: number[] } }
  expect([...example!.chosen.ids.subarray(0, outcome.promptIds.length)]).toEqual(outcome.promptIds)
  expect(response.startsWith(rows[0]!.chosen)).toBe(true)
  await dataset.close()
  const trained = await dpo({
    ...{ model: join(output, 'final_model'), data, output: join(runs, 'dpo'), device: 'cpu', loggers: [] },
    ...{ batchSize: 2, epochs: 1 },
  })
  expect(trained.outcome).toBe('finished')
})
