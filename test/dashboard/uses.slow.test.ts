/** What is made of the samples of a run: other rewards of them, and data for another training. */
import { renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { GroupsAnswer, RescoreAnswer, SampleDetail } from '../../src/dashboard/api.js'
import { openDataset } from '../../src/data/index.js'
import { dpo, grpo, Tokenizer } from '../../src/index.js'
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
  asked = await AskedDashboard.over(runs, { rewards: [broken, throwing, others] })
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
