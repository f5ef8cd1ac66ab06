/** Prompts with images and sounds in the maker: one tower pass, what engines and rewards get, and answers that cannot be trained on. */
import { expect, test } from 'vitest'
import { FastExperienceMaker, type FastExperienceMakerOptions } from '../../src/experience/index.js'
import { LocalModel, MultimodalProcessor } from '../../src/model/index.js'
import { type RewardInput, sampleReward } from '../../src/reward/index.js'
import { type GenerationRequest, LocalEngine } from '../../src/rollout/index.js'
import { Tokenizer } from '../../src/text/index.js'
import { atEnd } from '../support/at-end.js'
import { ScriptedGenerator } from '../support/doubles/scripted-generator.js'
import { visionDirectory } from '../support/vision-task.js'

const directory = await visionDirectory(3)
const tokenizer = await Tokenizer.load(directory)
const processor = await MultimodalProcessor.load(directory, {
  encode: text => tokenizer.encode(text, { addSpecialTokens: false }),
})
const image = { data: new Uint8Array(16 * 16 * 3).fill(50), width: 16, height: 16 }
const loaded = async (options: Parameters<typeof LocalModel.load<'language'>>[1]) => {
  const model = await LocalModel.load<'language'>(directory, { ...options, role: 'language' })
  atEnd(() => model.dispose())
  return model
}
const actor = await loaded({ freezeVision: 'all' })
const makerOf = (options: Partial<FastExperienceMakerOptions>) =>
  new FastExperienceMaker({
    ...{ actor, tokenizer, processor, advantageEstimator: 'rloo', nSamplesPerPrompt: 2, maxNewTokens: 4 },
    sources: [sampleReward(({ response }) => response.length, { name: 'length' })],
    generator: new ScriptedGenerator(() => [40, 41], tokenizer.vocabSize),
    ...options,
  })

test('a frozen tower computes an image once: for the engine, all samples, the actor and later batches', async () => {
  const generator = new LocalEngine(actor, { tokenizer })
  atEnd(() => generator.close())
  const maker = makerOf({ generator, nSamplesPerPrompt: 4 })
  const before = actor.vision!.computedPatches
  const row = { prompt: 'Which colour?', images: [image] }
  const { experiences } = await maker.makeExperienceList([row, { prompt: 'Say something' }])
  expect(experiences.map(({ sequence }) => sequence.media.length)).toEqual([1, 1, 1, 1, 0, 0, 0, 0])
  await maker.makeExperienceList([{ prompt: 'And now?', images: [image] }])
  expect(actor.vision!.computedPatches - before).toBe(16)
  // The reference is the same tower, where an adapter is trained.
  const adapted = await loaded({ adapter: { rank: 2, alpha: 4, dropout: 0, targets: ['q_proj'], seed: 1 } })
  const engine = new LocalEngine(adapted, { tokenizer })
  atEnd(() => engine.close())
  await makerOf({ actor: adapted, reference: 'adapter-off', generator: engine }).makeExperienceList([row])
  expect(adapted.vision!.computedPatches).toBe(16)
})

const pad = 5
/** An engine of others, which may sample placeholders. */
class Foreign extends ScriptedGenerator {
  override generate(requests: Iterable<GenerationRequest>, options: object) {
    return super.generate(
      [...requests].map(({ media: _, ...rest }) => rest),
      options,
    )
  }
}

test('a response of another engine with a placeholder is dropped with the reason, and ids stay what was sampled', async () => {
  const generator = new Foreign((_, sample) => (sample === 1 ? [40, pad] : [40, 41 + sample]), tokenizer.vocabSize)
  const maker = makerOf({ generator })
  const { experiences, dropped } = await maker.makeExperienceList([{ prompt: 'Which colour?', images: [image] }])
  expect(experiences.map(({ sample }) => sample)).toEqual([0, 2])
  expect(dropped).toMatchObject([
    { sample: 1, reason: 'media-tokens', message: expect.stringContaining('a placeholder') },
  ])
})

test('mediaRepair: placeholders of a response are masked, counted by reason, and its ids stay', async () => {
  const video = 6
  const answers = [
    [pad, 40, video, 41, pad, 42],
    [40, 41, 42],
  ]
  const generator = new Foreign((_, sample) => answers[sample]!, tokenizer.vocabSize)
  const critic = await LocalModel.load<'value'>(directory, { role: 'value' })
  atEnd(() => critic.dispose())
  const maker = makerOf({ generator, critic, mediaRepair: 'mask', advantageEstimator: 'gae', maxNewTokens: 8 })
  for (const images of [[image], []]) {
    const { experiences, dropped, info } = await maker.makeExperienceList([{ prompt: 'Which colour?', images }])
    expect(dropped).toEqual([])
    expect(info.repairs).toEqual({ 'surplus-image': 2, 'surplus-video': 1 })
    const [masked, plain] = experiences.map(one => one) as [(typeof experiences)[0], (typeof experiences)[0]]
    const asked = plain.sequence.ids.length - 3
    expect([...masked.sequence.ids.subarray(asked)]).toEqual(answers[0])
    expect(masked.sequence.unread).toEqual([asked, asked + 2, asked + 4])
    expect([...masked.sequence.trained.subarray(asked)]).toEqual([0, 1, 0, 1, 0, 1])
    // What is left is the other answer: its numbers are those of the other sample.
    expect(masked.logprobs).toEqual(plain.logprobs)
    expect(masked.values).toEqual(plain.values)
    expect(masked.lossMask.length).toBe(3)
    expect(masked.engineLogprobs.raw!.length).toBe(3)
    expect(masked.versions).toEqual(plain.versions)
    expect(masked.versions.at(-1)!.end).toBe(3)
  }
})

test('mediaRepair: a response of placeholders alone is dropped', async () => {
  const generator = new Foreign((_, sample) => (sample === 0 ? [pad, pad] : [40, 41 + sample]), tokenizer.vocabSize)
  const maker = makerOf({ generator, mediaRepair: 'mask', maxNewTokens: 2 })
  const { dropped, info } = await maker.makeExperienceList([{ prompt: 'Which colour?', images: [image] }])
  expect(dropped).toMatchObject([{ sample: 0, reason: 'media-tokens' }])
  expect([info.repairs, info.drops]).toEqual([{}, { 'generation: media-tokens': 1 }])
})

test('sounds go to the engine and to the rewards as they are; engines and models of this process say that they hear none', async () => {
  // 16 kHz, one channel, 16 bits.
  const wav = Buffer.alloc(44)
  wav.write('RIFF', 0)
  wav.write('WAVEfmt ', 8)
  wav.writeUInt32LE(16, 16)
  wav.writeUInt32LE(16000, 24)
  const asked: GenerationRequest[] = []
  class Hearing extends ScriptedGenerator {
    override generate(requests: Iterable<GenerationRequest>, options: object) {
      const all = [...requests]
      asked.push(...all)
      return super.generate(all, options)
    }
  }
  const heard: RewardInput['audios'][] = []
  const reward = sampleReward(({ audios, sample }) => {
    heard.push(audios)
    return sample
  })
  const generator = new Hearing(() => [40], tokenizer.vocabSize)
  const row = { prompt: 'What do you hear?', audios: [{ bytes: wav }] }
  const maker = makerOf({ generator, sources: [reward] })
  const { groups } = await maker.generateSamples([row])
  expect(groups.flat()).toHaveLength(2)
  // Scored without the sound, the samples would have other log-probabilities.
  await expect(maker.makeExperienceList([row])).rejects.toThrow('local models do not support audio')
  expect(asked[0]!.audios).toMatchObject([{ samplingRate: 16000, mimeType: 'audio/wav' }])
  expect(heard[0]).toMatchObject([{ samplingRate: 16000 }])
  const engine = new LocalEngine(actor, { tokenizer })
  atEnd(() => engine.close())
  await expect(makerOf({ generator: engine }).makeExperienceList([row])).rejects.toThrow(
    'local models do not support audio',
  )
  const wrong = { prompt: 'a', audios: [{ bytes: wav, samplingRate: 8000 }] }
  const bad = await makerOf({}).makeExperienceList([wrong])
  expect(bad.dropped[0]).toMatchObject({ reason: 'media', message: expect.stringContaining('16000 Hz') })
})
