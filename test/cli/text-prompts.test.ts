/** A text prompt is the same ids in every verb: a user's turn where there is a chat template, or one is given; else the text. */
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { main } from '../../src/cli/main.js'
import { dataOptionsSchema, openDataset } from '../../src/data/index.js'
import { FastExperienceMaker } from '../../src/experience/index.js'
import { LocalModel } from '../../src/model/index.js'
import { sampleReward } from '../../src/reward/index.js'
import { type GenerationRequest, LocalEngine } from '../../src/rollout/index.js'
import { firstTrained, type Sequence } from '../../src/sequence/index.js'
import { Tokenizer } from '../../src/text/index.js'
import { capturedOutput } from '../support/cli.js'
import { fresh, jsonl, temporaryDirectory } from '../support/files.js'
import { base, modelDirectory, pipelineOf } from '../support/pipeline.js'

capturedOutput()
const folder = temporaryDirectory()
const question = 'What is 1 + 1?'
const reward = join(folder, 'reward.mjs')
/** The same model, without a chat template. */
let plain: string
const file = join(folder, 'template.jinja')
beforeAll(async () => {
  plain = await modelDirectory(1)
  rmSync(join(plain, 'chat_template.jinja'))
  writeFileSync(reward, 'export default ({ sample }) => sample\n')
  writeFileSync(file, `{% for message in messages %}[{{ message.role }}] {{ message.content }}{% endfor %}[assistant]`)
})

let asked: number[][] = []
beforeEach(() => {
  asked = []
  const generate = LocalEngine.prototype.generate
  vi.spyOn(LocalEngine.prototype, 'generate').mockImplementation(function (this: LocalEngine, requests, options) {
    async function* watched(): AsyncGenerator<GenerationRequest> {
      for await (const request of requests) {
        asked.push([...request.promptIds])
        yield request
      }
    }
    return generate.call(this, watched(), options)
  })
})

interface Asking {
  model: string
  chatTemplate: string
}
type Ask = (asking: Asking) => Promise<void>

const prompts = jsonl([{ prompt: question }], 'prompts')
const config = (values: object): string => {
  const path = `${fresh('config')}.json`
  writeFileSync(path, JSON.stringify(values))
  return path
}
const ran = async (args: string[]): Promise<void> => expect(await main(args)).toBe(0)

const verbs: Record<string, Ask> = {
  generate: ({ model, chatTemplate }) =>
    ran([
      ...['generate', '--model', model, '--input', prompts, '--output', fresh('out.jsonl')],
      ...['--chat-template', chatTemplate, '--max-new-tokens', '2'],
    ]),
  experience: ({ model, chatTemplate }) => {
    const options = { model, chatTemplate, data: prompts, rewards: reward, output: fresh('out.jsonl') }
    return ran(['experience', '--config', config({ ...options, advantageEstimator: 'reinforce', maxNewTokens: 2 })])
  },
  eval: ({ model, chatTemplate }) =>
    ran([
      ...['eval', '--model', model, '--data', prompts, '--reward', reward, '--chat-template', chatTemplate],
      ...['--max-new-tokens', '2'],
    ]),
  rl: ({ model, chatTemplate }) => {
    const small = { iterations: 1, rolloutBatchSize: 1, nSamplesPerPrompt: 2, maxNewTokens: 2 }
    const options = { model, chatTemplate, data: prompts, rewards: reward, output: fresh('run') }
    return ran(['rl', '--config', config({ ...options, ...small })])
  },
  FastExperienceMaker: async ({ model, chatTemplate }) => {
    const tokenizer = await Tokenizer.load(model, { chatTemplate })
    const actor = await LocalModel.load(model, { role: 'language' })
    const generator = new LocalEngine(actor, { tokenizer })
    const maker = new FastExperienceMaker({
      ...{ actor, tokenizer, generator, sources: [sampleReward(() => 1, { name: 'one' })] },
      ...{ advantageEstimator: 'reinforce', maxNewTokens: 2 },
      chatTemplate: chatTemplate === 'none' ? 'none' : 'auto',
    })
    await maker.makeExperienceList([question])
    await generator.close()
    actor.dispose()
  },
  'pipeline: generateSample': async ({ model, chatTemplate }) => {
    const pipeline = await pipelineOf({ chatTemplate })
    await pipeline.generateSample(question, { model, maxNewTokens: 2 })
  },
  score: async ({ model, chatTemplate }) => {
    const score = vi.spyOn(LocalModel.prototype, 'score')
    const input = jsonl([{ prompt: question, response: '2' }], 'pairs')
    await ran([
      ...['score', '--model', model, '--input', input, '--output', fresh('out.jsonl')],
      ...['--chat-template', chatTemplate],
    ])
    const [[sequence]] = score.mock.calls[0]! as unknown as [Sequence[]]
    asked.push([...sequence!.ids.subarray(0, firstTrained(sequence!))])
  },
  sft: async ({ model, chatTemplate }) => {
    const tokenizer = await Tokenizer.load(model, { chatTemplate })
    const options = { ...dataOptionsSchema.parse({ chatTemplate }), seed: 0, baseDirectory: '.' }
    const rows = jsonl([{ prompt: question, completion: '2' }], 'completions')
    const dataset = await openDataset('conversations', rows, options)
    const [example] = await dataset.train(tokenizer).take(1)
    asked.push([...example!.sequence.ids.subarray(0, firstTrained(example!.sequence))])
    await dataset.close()
  },
  dpo: async ({ model, chatTemplate }) => {
    const tokenizer = await Tokenizer.load(model, { chatTemplate })
    const options = { ...dataOptionsSchema.parse({ chatTemplate }), seed: 0, baseDirectory: '.' }
    const rows = jsonl([{ prompt: question, chosen: '2', rejected: '3' }], 'preferences')
    const dataset = await openDataset('preferences', rows, options)
    const [example] = await dataset.train(tokenizer).take(1)
    asked.push([...example!.chosen.ids.subarray(0, firstTrained(example!.chosen))])
    await dataset.close()
  },
}
/** A conversation is what they take, so that there is no `none`. */
const chat: Ask = async ({ model, chatTemplate }) => {
  vi.spyOn(process, 'stdin', 'get').mockReturnValue(Readable.from([`${question}\n`]) as unknown as typeof process.stdin)
  await ran(['chat', '--model', model, '--chat-template', chatTemplate, '--max-new-tokens', '2'])
}

describe.each<[string, () => Asking, () => Promise<Int32Array>]>([
  [
    'the template of the tokenizer',
    () => ({ model: base, chatTemplate: 'auto' }),
    async () =>
      (await Tokenizer.load(base)).encodeChat([{ role: 'user', content: question }], { addGenerationPrompt: true }),
  ],
  ['none', () => ({ model: base, chatTemplate: 'none' }), async () => (await Tokenizer.load(base)).encode(question)],
  [
    'no template',
    () => ({ model: plain, chatTemplate: 'auto' }),
    async () => (await Tokenizer.load(plain)).encode(question),
  ],
  [
    'chatml for a model without a template',
    () => ({ model: plain, chatTemplate: 'chatml' }),
    async () =>
      (await Tokenizer.load(plain)).encode(`<|im_start|>user\n${question}<|im_end|>\n<|im_start|>assistant\n`),
  ],
  [
    'a file for a model without a template',
    () => ({ model: plain, chatTemplate: file }),
    async () => (await Tokenizer.load(plain)).encode(`[user] ${question}[assistant]`),
  ],
])('%s', (name, asking, expected) => {
  const takesConversations = !['none', 'no template'].includes(name)
  test.each(Object.entries({ ...verbs, ...(takesConversations ? { chat } : {}) }))('%s', async (_, ask) => {
    await ask(asking())
    const ids = [...(await expected())]
    expect(asked.length).toBeGreaterThan(0)
    for (const one of asked) expect(one).toEqual(ids)
  })
})
