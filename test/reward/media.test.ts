/** Images, videos and sounds of samples, as each kind of reward sees them. */
import { copyFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { encodePng } from '../../src/media/index.js'
import { LocalModel, MultimodalProcessor } from '../../src/model/index.js'
import {
  grpcReward,
  httpReward,
  loadRewards,
  modelReward,
  promptMedia,
  RewardComputationEngine,
  type RewardInput,
  type RewardSource,
  sampleReward,
} from '../../src/reward/index.js'
import { type MediaItem, promptSequence, withSampled } from '../../src/sequence/index.js'
import { Tokenizer } from '../../src/text/index.js'
import { atEnd } from '../support/at-end.js'
import { fresh, written } from '../support/files.js'
import { inferenceServer, rewardsAnswer } from '../support/reward-grpc.js'
import { json, rewardServer } from '../support/reward-http.js'
import { sample } from '../support/reward-samples.js'
import { modelDirectory, rewardModelDirectory } from '../support/tiny-model.js'
import { visionDirectory } from '../support/vision-task.js'

const model = await visionDirectory(1)
const tokenizer = await Tokenizer.load(model)
const encode = (text: string) => tokenizer.encode(text, { addSpecialTokens: false })
const processor = await MultimodalProcessor.load(model, { encode })

const grey = (value: number, frames = 1) => new Uint8Array(16 * 16 * 3 * frames).fill(value)
const image = { data: grey(40), width: 16, height: 16 }
const video = { data: grey(90, 3), width: 16, height: 16, frames: 3, fps: 2 }
const messages = [{ role: 'user', content: [{ type: 'image' }, { type: 'text', text: 'Why' }, { type: 'video' }] }]

/** A sample as an engine gives it. */
async function seen(response = 'Because', given = image): Promise<RewardInput> {
  const ids = await tokenizer.encodeChat(messages, { addGenerationPrompt: true, mediaTypes: ['image', 'video'] })
  const made = await processor.process(ids, { images: [given], videos: [video] })
  if (made.kind === 'failed') throw new Error(made.message)
  const prompt = promptSequence({ ids: made.ids, media: made.media, promptId: 'p', row: {} })
  const { images, videos, media } = promptMedia(made.media, { images: [given], videos: [video] })
  const sequence = withSampled({ ...prompt, media }, await encode(response))
  return { ...sample(response), sequence, messages, images, videos }
}

async function outcomesOf(source: RewardSource, inputs: readonly RewardInput[]) {
  const engine = new RewardComputationEngine({ sources: [source] })
  try {
    return (await engine.compute(inputs)).outcomes
  } finally {
    await engine.close()
  }
}
const png = async (value: number) => (await encodePng({ data: grey(value), width: 16, height: 16 })).toString('base64')

describe('what a prompt has', () => {
  test('decoded pixels with their sizes, and where they come from', async () => {
    const { images, videos } = await seen()
    expect(images).toMatchObject([{ kind: 'image', width: 16, height: 16, frames: 1 }])
    expect(images![0]!.pixels).toEqual(grey(40))
    expect(videos).toMatchObject([{ kind: 'video', width: 16, height: 16, frames: 3, secondsPerGrid: 1 }])
    const items = [{ pixels: { kind: 'image', hash: 'h', frames: grey(1), grid: [1, 4, 4] }, runs: [] }] as MediaItem[]
    const origin = (given: unknown) =>
      promptMedia(items, { images: [given], videos: [], baseDirectory: '/data' }).images[0]
    expect(origin('a/b.png')).toMatchObject({ path: '/data/a/b.png' })
    expect(origin({ image: 'https://example.org/a.png' })).toMatchObject({ url: 'https://example.org/a.png' })
    expect(origin({ bytes: Uint8Array.of(1, 2) })).toMatchObject({ bytes: Uint8Array.of(1, 2) })
    expect(origin('data:image/png;base64,AQI=')).toMatchObject({ bytes: Buffer.from([1, 2]) })
  })

  test('a function shares them between samples and cannot change what is trained', async () => {
    const input = await seen()
    const trained = await seen()
    const given: unknown[] = []
    const source = sampleReward(({ images, sequence }) => {
      given.push(images![0]!.pixels)
      images![0]!.pixels[0] = 99
      return sequence.media[0]!.pixels.frames === images![0]!.pixels ? images![0]!.pixels[1]! : -1
    })
    const outcomes = await outcomesOf(source, [input, { ...input, sample: 1 }])
    expect(outcomes.map(one => one.kind === 'scored' && one.reward)).toEqual([40, 40])
    expect(given[0]).toBe(given[1])
    expect(trained.sequence.media[0]!.pixels.frames[0]).toBe(40)
  })

  test('a reward in a process of its own gets them, and sounds', async () => {
    const file = written(
      'seen.mjs',
      `export default ({ images, videos, audios }) => images[0].pixels[5] + videos[0].frames + audios[0].samplingRate\n`,
    )
    const engine = await loadRewards(file)
    const audios = [{ bytes: Uint8Array.of(1), samplingRate: 16000, mimeType: 'audio/wav' }]
    const { outcomes } = await engine.compute([{ ...(await seen()), audios }])
    await engine.close()
    expect(outcomes[0]).toMatchObject({ reward: 40 + 3 + 16000 })
  })
})

describe('servers', () => {
  test('lightrft gets PNG in base64: images, and videos as frames', async () => {
    const server = await rewardServer((response, { body }) =>
      json(response, { rewards: (body.queries as string[]).map(() => 1) }),
    )
    const outcomes = await outcomesOf(httpReward({ name: 'rm', url: server.url }), [await seen(), sample('text')])
    expect(outcomes.map(({ kind }) => kind)).toEqual(['scored', 'scored'])
    const [one, three] = [await png(40), await png(90)]
    expect(server.asked[0]!.body).toMatchObject({
      images: [[one], null],
      videos: [[[three, three, three]], null],
    })
  })

  test('vLLM gets messages with data URLs at their places', async () => {
    const server = await rewardServer(response => json(response, { data: [{ index: 0, probs: [0.5] }] }))
    const source = httpReward({ name: 'rm', url: server.url, dialect: 'vllm-classify', send: 'messages' })
    expect(await outcomesOf(source, [await seen()])).toMatchObject([{ reward: 0.5 }])
    const asked = server.asked[0]!.body.messages as { content: { type: string; image_url?: { url: string } }[] }[]
    expect(asked[0]!.content.map(({ type }) => type)).toEqual(['image_url', 'text', 'video_url'])
    expect(asked[0]!.content[0]!.image_url!.url).toBe(`data:image/png;base64,${await png(40)}`)
  })

  test('a protocol without images is a failure with the reason, unless they are left out on purpose', async () => {
    const server = await rewardServer(response => json(response, { rewards: [0.25] }))
    const ask = async (more: object) =>
      (await outcomesOf(httpReward({ name: 'rm', url: server.url, dialect: 'openrlhf', ...more }), [await seen()]))[0]
    expect(await ask({})).toMatchObject({ kind: 'failed', reason: 'input' })
    expect(server.asked).toHaveLength(0)
    expect(await ask({ media: 'omit' })).toMatchObject({ reward: 0.25 })
    const ids = httpReward({ name: 'rm', url: server.url, dialect: 'vllm-classify', send: 'ids' })
    const [failed] = await outcomesOf(ids, [await seen()])
    expect(failed).toMatchObject({ message: expect.stringContaining('set send to messages') })
  })

  test('gRPC sends the tensors that the model names, and refuses to leave others out', async () => {
    const tensor = (name: string) => ({ name, datatype: 'BYTES', shape: ['-1', '1'] })
    const serverOf = (names: string[]) =>
      inferenceServer({
        metadata: () => ({ name: 'rm', inputs: names.map(tensor), outputs: [tensor('REWARD')] }),
        infer: ({ id }) => rewardsAnswer([7], { id }),
      })
    const both = await serverOf(['TEXT', 'IMAGES', 'VIDEOS'])
    const source = grpcReward({ name: 'rm', url: `grpc://${both.target}/rm`, contents: 'typed' })
    expect(await outcomesOf(source, [await seen()])).toMatchObject([{ reward: 7 }])
    const sent = both.asked[0]!.inputs.map(({ contents }) => Buffer.from(contents!.bytes_contents![0]!).toString())
    expect(JSON.parse(sent[1]!)).toEqual([await png(40)])
    expect(JSON.parse(sent[2]!)[0]).toHaveLength(3)
    const text = await serverOf(['TEXT'])
    const blind = grpcReward({ name: 'rm', url: `grpc://${text.target}/rm` })
    const [failed] = await outcomesOf(blind, [await seen()])
    expect(failed).toMatchObject({ reason: 'input', message: expect.stringContaining('no tensor IMAGES') })
    expect(text.asked).toHaveLength(0)
  })
})

describe('local reward models', () => {
  const loaded = async (directory: string) => {
    const reward = await LocalModel.load(directory, { role: 'reward' })
    atEnd(() => reward.dispose())
    return reward
  }

  test('a vision-language model scores the sequence with its pixels', async () => {
    const directory = await rewardModelDirectory(model)
    const reward = await loaded(directory)
    const source = modelReward({ name: 'quality', model: reward, tokenizer, policyTokenizer: tokenizer, processor })
    const [one, other] = [await seen(), await seen('Because', { ...image, data: grey(200) })]
    const [a, b] = await outcomesOf(source, [one, other])
    expect(a).toMatchObject({ kind: 'scored' })
    expect(a!.kind === 'scored' && b!.kind === 'scored' && a!.reward !== b!.reward).toBe(true)
    const [alone] = await reward.score([one.sequence])
    expect(a).toMatchObject({ reward: expect.closeTo(alone!.score, 5) })
    // Of another tokenizer: the conversation is rendered and the media are placed again.
    const rendered = modelReward({ name: 'quality', model: reward, tokenizer, processor })
    expect((await outcomesOf(rendered, [one]))[0]).toMatchObject({ kind: 'scored' })
  })

  test('a model of text fails such a sample alone, and hears nothing', async () => {
    const reward = await loaded(await rewardModelDirectory(await modelDirectory(1)))
    const source = modelReward({ name: 'quality', model: reward, tokenizer })
    const clip = { bytes: Uint8Array.of(1), samplingRate: 8000, mimeType: 'audio/wav' }
    const [bad, good, heard] = await outcomesOf(source, [await seen(), sample('yes'), sample('no', { audios: [clip] })])
    expect(bad).toMatchObject({ reason: 'input', message: expect.stringContaining('reads text alone') })
    expect(good).toMatchObject({ kind: 'scored' })
    expect(heard).toMatchObject({ reason: 'input', message: expect.stringContaining('do not support audio') })
  })
})

test('a reward model of a file takes its processor along', async () => {
  const directory = await rewardModelDirectory(model)
  const spec = written('rm.json', JSON.stringify({ sources: { rm: { type: 'model', path: directory } } }))
  const copied = fresh('spec.json')
  copyFileSync(spec, copied)
  const engine = await loadRewards(join(copied), { tokenizer, device: 'cpu' })
  const { outcomes } = await engine.compute([await seen()])
  await engine.close()
  expect(outcomes[0]).toMatchObject({ kind: 'scored' })
})
