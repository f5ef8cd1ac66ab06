import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { filesOf, pipelineOf } from '../support/pipeline.js'

test('samples are answers to the same prompts before and after, scored once there is a reward model', async () => {
  const pipeline = await pipelineOf({ samplePrompts: ['2 + 1?', 'hello'] })
  const { saveDir } = pipeline.config
  await pipeline.runFullPipeline()
  const rows = (name: string) =>
    readFileSync(join(saveDir, 'samples', `${name}.jsonl`), 'utf8')
      .trim()
      .split('\n')
      .map(line => JSON.parse(line) as { prompt: { content: string }[]; response: string; reward?: number })
  for (const name of ['base', 'sft', 'reward_model', 'ppo'])
    expect(
      rows(name).map(row => row.prompt[0]!.content),
      name,
    ).toEqual(['2 + 1?', 'hello'])
  expect(rows('base')[0]!.reward).toBeUndefined()
  for (const name of ['sft', 'reward_model', 'ppo']) expect(rows(name)[0]!.reward, name).toBeTypeOf('number')
  // A sample asked for later is the same one: the model is loaded from its files.
  expect(await pipeline.generateSample('2 + 1?')).toBe(rows('ppo')[0]!.response)
  const { model } = await pipeline.runSft()
  expect(await pipeline.generateSample('hello', { model })).toBe(rows('sft')[1]!.response)
})

test('options of rl hold in the last stage: tokens of high entropy alone, in bfloat16 with exact masters', async () => {
  const ppo = { highEntropyTokenRatio: 0.4, dtype: 'bfloat16', optimizer: { masters: 'exact' } } as const
  const pipeline = await pipelineOf({ ppo })
  expect((await pipeline.runFullPipeline()).outcome).toBe('finished')
  const lines = readFileSync(join(pipeline.config.saveDir, 'logs/ppo.metrics.jsonl'), 'utf8').trim().split('\n')
  for (const line of lines) {
    const { values } = JSON.parse(line) as { values: Record<string, number> }
    if (values['policy/loss'] === undefined) continue
    expect(values['policy/tokens_kept']).toBeLessThan(1)
    expect(values['weights/changed']).toBeGreaterThan(0)
  }
})

/** Names and bytes of the tensors of a model directory. */
function tensorsOf(directory: string): Map<string, Buffer> {
  const bytes = readFileSync(join(directory, 'model.safetensors'))
  const size = Number(bytes.readBigUInt64LE(0))
  const header = JSON.parse(bytes.subarray(8, 8 + size).toString()) as Record<string, { data_offsets?: number[] }>
  const entries = Object.entries(header).flatMap(([name, { data_offsets: at }]) =>
    at ? [[name, bytes.subarray(8 + size + at[0]!, 8 + size + at[1]!)] as const] : [],
  )
  return new Map(entries)
}

test('under freezeRewardBackbone only the head differs, and the policy is trained all the same', async () => {
  const pipeline = await pipelineOf({ freezeRewardBackbone: true })
  const { stages } = await pipeline.runFullPipeline()
  const [sft, reward, ppo] = stages.map(({ model }) => tensorsOf(model))
  const changed = (other: Map<string, Buffer>) =>
    [...sft!.keys()].filter(name => other.has(name) && !sft!.get(name)!.equals(other.get(name)!))
  expect(changed(reward!)).toEqual([])
  expect([...reward!.keys()].filter(name => !sft!.has(name))).toEqual(['score.weight'])
  expect(changed(ppo!).length).toBe(sft!.size)
})

test('evaluateModel measures a fresh copy, with numbers that are not constants', async () => {
  const pipeline = await pipelineOf()
  const { model } = await pipeline.runFullPipeline()
  const before = filesOf(model)
  const onConversations = await pipeline.evaluateModel({ data: pipeline.config.sftDataPath, metrics: ['perplexity'] })
  expect(onConversations.evaluation.model.perplexity!.value).toBeGreaterThan(1)
  const { evaluation } = await pipeline.evaluateModel({ data: pipeline.config.ppoDataPath })
  expect(evaluation.winRate).toBeDefined()
  expect(evaluation.reference).toBeDefined()
  expect(evaluation.model.rewards?.reward?.mean).toBeTypeOf('number')
  expect(filesOf(model)).toEqual(before)
})
