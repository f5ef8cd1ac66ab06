/** A chat with models that a run has written and with the one it started from: each is asked as the run asks its policy. */
import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { ChatLine } from '../../src/dashboard/api.js'
import type { Dashboard } from '../../src/dashboard/index.js'
import { grpo, sft } from '../../src/index.js'
import { compiledRoom } from '../support/compiled.js'
import { temporaryDirectory } from '../support/files.js'
import { letterReward, modelDirectory } from '../support/rl.js'

const runs = temporaryDirectory()
let dashboard: Dashboard

beforeAll(async () => {
  const model = await modelDirectory(1, { context: 96 })
  rmSync(join(model, 'chat_template.jinja'))
  const shared = { model, device: 'cpu' as const, loggers: [], seed: 1 }
  const output = join(runs, 'sft')
  await sft({
    ...{
      ...shared,
      output,
      chatTemplate: 'none',
      lora: { rank: 4 },
      keep: 'adapters',
      optimizer: { lr: 0.05 },
      epochs: 3,
    },
    data: Array.from({ length: 8 }, (_, i) => ({ prompt: `Question ${i}:`, completion: 'aeiou aeiou' })),
  })
  const data = Array.from({ length: 4 }, (_, i) => ({ prompt: `Question ${i}:` }))
  const small = { iterations: 1, rolloutBatchSize: 2, nSamplesPerPrompt: 2, maxNewTokens: 6, saveSteps: 1 }
  // Steps so small that the policy still answers as it did at the start.
  const run = { ...shared, ...small, data, rewards: letterReward, optimizer: { lr: 1e-12 } }
  const adapter = join(output, 'final_adapter')
  await grpo({ ...run, adapter, chatTemplate: 'chatml', output: join(runs, 'tuned') })
  await grpo({ ...run, chatTemplate: 'none', output: join(runs, 'plain') })
  const { Dashboard: Compiled } = (await import(compiledRoom('dashboard'))) as { Dashboard: typeof Dashboard }
  dashboard = await Compiled.start({ directory: runs, port: 0 })
})
afterAll(() => dashboard?.close())

async function answer(run: string, model: string): Promise<{ text: string; last: ChatLine | undefined }> {
  const response = await fetch(`${dashboard.origin}/api/runs/${run}/chat`, {
    method: 'POST',
    headers: { authorization: `Bearer ${dashboard.token}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      ...{ model, temperature: 0, maxNewTokens: 8 },
      messages: [{ role: 'user', content: 'Question 1:' }],
    }),
  })
  const lines = (await response.text())
    .split('\n')
    .filter(line => line !== '')
    .map(line => JSON.parse(line) as ChatLine)
  return { text: lines.map(line => ('text' in line ? line.text : '')).join(''), last: lines.at(-1) }
}

test('the model at the start has its adapter, and every model the chat template of the run', async () => {
  const template = readFileSync(join(runs, 'tuned/tokenizer/chat_template.jinja'), 'utf8')
  expect(template).toContain('im_start')
  const start = await answer('tuned', 'start')
  expect(start.last).toMatchObject({ finish: expect.any(String), tokens: expect.any(Number) })
  expect((start.last as { tokens: number }).tokens).toBeGreaterThan(0)
  for (const model of ['checkpoint 1', 'final_model']) expect(await answer('tuned', model), model).toEqual(start)
})

test('models without a chat template continue the text', async () => {
  const start = await answer('plain', 'start')
  expect(start.last).toMatchObject({ finish: expect.any(String), tokens: expect.any(Number) })
  expect(await answer('plain', 'checkpoint 1')).toEqual(start)
})
