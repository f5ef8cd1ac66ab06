/** Samples with pictures, and samples that are episodes, as the page gets them. */
import { readdirSync, rmSync } from 'node:fs'
import { basename, join } from 'node:path'
import { expect, test } from 'vitest'
import type { RescoreAnswer, SampleDetail, SamplesAnswer, TokensAnswer } from '../../src/dashboard/api.js'
import { defineEnvironment } from '../../src/environment/index.js'
import { grpo } from '../../src/index.js'
import { AskedDashboard } from '../support/dashboard.js'
import { temporaryDirectory, written } from '../support/files.js'
import { modelDirectory } from '../support/rl.js'
import { run as visualRun } from '../train/vision/rl-world.js'

const lengthReward = written('length.mjs', 'export default ({ response }) => response.length\n')

async function over<T>(directory: string, look: (asked: AskedDashboard, path: string) => Promise<T>): Promise<T> {
  const asked = await AskedDashboard.over(directory, { rewards: [lengthReward] })
  try {
    const run = basename(directory)
    await asked.indexed(run)
    return await look(asked, `/api/runs/${encodeURIComponent(run)}/samples`)
  } finally {
    await asked.close()
  }
}

test('pictures of a prompt are shown as the model saw them, and no other file is', async () => {
  const { output } = await visualRun({ iterations: 1 })
  await over(output, async (asked, path) => {
    const { rows } = await asked.get<SamplesAnswer>(`${path}?limit=100`)
    const details = await Promise.all(
      rows.map(({ id }) => asked.get<SampleDetail>(`${path}/${encodeURIComponent(id)}`)),
    )
    const one = details.find(({ media }) => media.length > 0)!
    expect(one.media[0]).toMatchObject({ kind: expect.stringMatching(/image|video/), width: expect.any(Number) })
    const picture = `${path}/${encodeURIComponent(one.id)}/media`
    const answer = await asked.ask(`${picture}/0`, { headers: asked.token })
    expect(answer).toMatchObject({ status: 200, headers: { 'content-type': 'image/png' } })
    expect(answer.text.slice(1, 4)).toBe('PNG')
    for (const wrong of ['99', '-1', '..%2Fconfig.json', '0%00'])
      expect((await asked.ask(`${picture}/${wrong}`, { headers: asked.token })).status, wrong).toBe(404)
    expect((await asked.ask(`${picture}/0`)).status).toBe(401)
  })
})

test('a reward sees the same pictures when a sample is scored again', async () => {
  const seen = written(
    'seen.mjs',
    `import { createHash } from 'node:crypto'
export default ({ sequence, images = [], videos = [], ...input }) => {
  const media = [...images, ...videos, ...sequence.media.map(({ pixels }) => ({ pixels: pixels.frames }))]
  const sum = createHash('sha256').update(JSON.stringify([input, [...sequence.ids]]))
  for (const { pixels, ...about } of media) sum.update(JSON.stringify(about)).update(pixels)
  return media.length + sum.digest().readUInt32BE() / 2 ** 32
}
`,
  )
  const { output } = await visualRun({ iterations: 1, rewards: seen })
  await over(output, async (asked, path) => {
    const rescored = (): Promise<RescoreAnswer> =>
      asked.posted<RescoreAnswer>(path.replace(/samples$/, 'rescore'), { rewards: seen })
    const { samples, changed, note } = await rescored()
    expect({ changed, note }).toEqual({ changed: 0, note: null })
    expect(samples.filter(({ after }) => after! >= 2).length).toBeGreaterThan(0)
    for (const file of readdirSync(join(output, 'media'))) rmSync(join(output, 'media', file))
    const gone = await asked.post(path.replace(/samples$/, 'rescore'), { rewards: seen })
    expect(gone.text).toContain("the run's copy of an image is gone")
  })
})

test('an episode is one sample: a conversation of its turns, whose observed tokens have no numbers', async () => {
  const output = join(temporaryDirectory(), 'run')
  const environment = defineEnvironment({
    ...{ name: 'two turns', version: '1' },
    open: async ({ messages }) => ({
      start: async () => messages,
      step: async ({ turn, text }) =>
        turn === 1
          ? { kind: 'done', reward: text.length / 10 }
          : { kind: 'go-on', messages: [{ role: 'user', content: 'More.' }] },
    }),
  })
  const data = Array.from({ length: 4 }, (_, i) => ({ prompt: `Question ${i}:` }))
  await grpo({
    ...{ model: await modelDirectory(1), data, environment, output, device: 'cpu', iterations: 2, loggers: [] },
    ...{ rolloutBatchSize: 2, nSamplesPerPrompt: 2, maxNewTokens: 12, episode: { turnTokens: 4 } },
    optimizer: { lr: 1e-3 },
  })
  await over(output, async (asked, path) => {
    const { rows, total, index } = await asked.get<SamplesAnswer>(`${path}?limit=100`)
    expect({ total, problem: index.problem }).toEqual({ total: 8, problem: null })
    const { id, length } = rows.find(({ trained, reward }) => trained && reward !== null)!
    const detail = await asked.get<SampleDetail>(`${path}/${encodeURIComponent(id)}`)
    expect(detail.turns.map(({ role }) => role)).toEqual(['user', 'assistant', 'user', 'assistant', 'note'])
    expect(detail.turns[2]!.text).toBe('More.')
    expect(detail.turns[3]!.note).toMatch(/^turn 2/)
    const { sampled, numbers, tokens } = await asked.get<TokensAnswer>(`${path}/${encodeURIComponent(id)}/tokens`)
    expect(sampled).toHaveLength(tokens.length)
    expect(sampled!.reduce((a, b) => a + b, 0)).toBe(length)
    expect(length).toBeLessThan(tokens.length)
    expect(numbers.advantage!.map(value => (value === null ? 0 : 1))).toEqual(sampled)
    expect(numbers.logprob!.filter(value => value !== null)).toHaveLength(length)
    // Another reward sees what the policy said last, not the note on how the episode ended.
    const rescored = await asked.posted<RescoreAnswer>(path.replace(/samples$/, 'rescore'), {
      rewards: lengthReward,
      ids: [id],
    })
    const said = detail.turns[3]!.text
    expect(rescored.samples.map(({ after }) => after)).toEqual([said.length])
  })
})
