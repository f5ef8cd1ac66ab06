/** Images and videos through a real server: the prompt that it makes of them, its numbers against ours, and new weights of the tower. */
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { type EngineType, type StartedEngine, startEngine } from '../../src/launch/index.js'
import { LocalModel } from '../../src/model/index.js'
import type { GenerationRequest, Generator, Outcome, RemoteOptions, Sample } from '../../src/rollout/index.js'
import {
  joinIds,
  type MediaItem,
  type MediaPixels,
  type Sequence,
  supervisedSequence,
} from '../../src/sequence/index.js'
import { Tokenizer } from '../../src/text/index.js'
import { temporaryDirectory } from '../support/files.js'
import { completed } from '../support/generation.js'
import { collect, largestDifference, startMs } from '../support/real-servers.js'
import { visionDirectory } from '../support/vision-directory.js'
import { readVisionCase, type VisionName } from '../support/vision-models.js'

export interface ImageEngine {
  readonly type: EngineType
  readonly connect: (options: RemoteOptions) => Promise<Generator>
  readonly flags?: readonly string[]
  readonly seeds: 'kept' | 'ignored'
  readonly family: VisionName
  /** Rows of the golden case that it refuses, and words of the reason. */
  readonly refused: Readonly<Record<number, string>>
  /** Whether it can be given other weights of this model. */
  readonly updates: boolean
}

const tolerance = 1e-4

export function describeImages({ type, connect, flags = [], seeds, family, refused, updates }: ImageEngine): void {
  describe(`images and videos of ${family} through ${type}`, async () => {
    const { golden, sequences } = await readVisionCase(family)
    const { directory } = visionDirectory(family)
    const rows = golden.rows.flatMap(({ media }, i) => (media.length > 0 && !(i in refused) ? [i] : []))
    let engine: StartedEngine | undefined
    let url: string
    let model: LocalModel<'language'>
    let tokenizer: Tokenizer
    const open: Generator[] = []
    beforeAll(async () => {
      model = await LocalModel.load(directory, { role: 'language' })
      tokenizer = await Tokenizer.load(directory)
      const own = { type, model: directory, device: 'cpu', dtype: 'float32', maxLength: 512 } as const
      engine = await startEngine({ ...own, readyTimeoutMs: startMs, flags })
      url = engine.url
    })
    afterEach(async () => {
      for (const one of open.splice(0)) await one.close()
    })
    afterAll(async () => {
      await engine?.stop()
      model?.dispose()
    })
    let version = 0
    const connected = async (options: Partial<RemoteOptions> = {}): Promise<Generator> => {
      const { vocabSize, config } = model
      const given = { urls: [url], vocabSize, tokenizer, vision: config.decoder.vision!, version, patienceMs: startMs }
      const generator = await connect({ ...given, ...options })
      open.push(generator)
      return generator
    }
    const request = (row: number, more: Partial<GenerationRequest> = {}): GenerationRequest => ({
      id: `row ${row}`,
      promptIds: sequences[row]!.ids.slice(0, golden.rows[row]!.prompt_length),
      media: sequences[row]!.media,
      ...more,
      sampling: { seed: 1, maxNewTokens: 12, temperature: 0, ignoreEos: true, ...more.sampling },
    })
    const others = golden.forbidden.filter(id => ![3, 4, 5, 6].includes(id))
    const samples = async (
      generator: Generator,
      requests: readonly GenerationRequest[],
    ): Promise<Map<string, Sample>> =>
      new Map(
        (await collect(generator.generate(requests))).map(one => [`${one.requestId}/${one.sample}`, completed(one)]),
      )
    const scoreOf = async (ids: Int32Array, media: readonly MediaItem[]): Promise<Float32Array> => {
      const trained = new Uint8Array(ids.length).fill(1, 1)
      const whole: Sequence = supervisedSequence({ ids, media, trained, promptId: '', row: {} })
      return (await model.score([whole]))[0]!.logprobs
    }
    /** What the server gives for these ids and images, against our model. */
    const expectScored = async (
      generator: Generator,
      ids: Int32Array,
      media: readonly MediaItem[],
    ): Promise<number> => {
      const asked = { id: `score ${Math.random()}`, promptIds: ids, media }
      const [found] = [
        ...(
          await samples(generator, [
            request(0, { ...asked, sampling: { seed: 1, maxNewTokens: 1, promptLogprobs: 0 } }),
          ])
        ).values(),
      ]
      const { logprobs } = found!.promptLogprobs!
      const expected = await scoreOf(ids, media)
      // Tokens of images have no log-probabilities everywhere.
      const isPlaceholder = (id: number | undefined) => id === 5 || id === 6
      const told = logprobs.map((value, i) => (Number.isNaN(value) && isPlaceholder(ids[i + 1]) ? expected[i]! : value))
      const difference = largestDifference(told, expected)
      expect(difference).toBeLessThan(tolerance)
      return difference
    }

    test('greedy continuations and log-probabilities are those of the golden cases and of our model', async () => {
      const generator = await connected()
      expect(generator.capabilities.media).toBe(true)
      const asked = rows.map(row => request(row, { sampling: { seed: 1, maxNewTokens: 12, forbiddenIds: others } }))
      const found = await samples(generator, asked)
      for (const row of rows)
        expect([...found.get(`row ${row}/0`)!.responseIds], `row ${row}`).toEqual(golden.rows[row]!.greedy_12)
      let worst = 0
      for (const row of rows) {
        const { ids, media } = sequences[row]!
        worst = Math.max(worst, await expectScored(generator, ids, media))
        expect(largestDifference(await scoreOf(ids, media), golden.rows[row]!.token_logprobs)).toBeLessThan(tolerance)
      }
      console.log(`${type}, ${family}: prompt log-probabilities differ by at most ${worst.toExponential(1)}`)
    })

    test('rows that the server cannot take are refused with the reason', async () => {
      const generator = await connected()
      for (const [row, words] of Object.entries(refused)) {
        const [outcome] = await collect(generator.generate([request(Number(row))]))
        expect(outcome).toMatchObject({ kind: 'rejected', reason: 'media-unsupported' })
        expect((outcome as { message: string }).message).toContain(words)
      }
    })

    test('samples, streams and hot first tokens see the image; no placeholder is sampled', async () => {
      const generator = await connected()
      // A video, where the server takes one.
      const row = rows.findLast(one => golden.media[golden.rows[one]!.media[0]!]!.kind === 'video') ?? rows[0]!
      const sampling = { seed: 3, maxNewTokens: 8, temperature: 1 }
      const seen: number[] = []
      const many = await samples(generator, [request(row, { promptId: 'p', n: 3, sampling })])
      const streamed: Outcome[] = []
      for await (const one of generator.generate([request(row, { id: 'stream', promptId: 'p', sampling })], {
        onToken: ({ id }) => seen.push(id),
      }))
        streamed.push(one)
      const hot = { seed: 3, maxNewTokens: 8, temperature: 1, firstTemperature: 5, topK: 10 }
      const fire = await samples(generator, [request(row, { id: 'fire', sampling: hot })])
      const all = [...many.values(), ...streamed.map(completed), ...fire.values()]
      expect(seen).toEqual([...completed(streamed[0]).responseIds])
      if (seeds === 'kept') expect(seen).toEqual([...many.get(`row ${row}/0`)!.responseIds])
      const { media } = sequences[row]!
      for (const { promptIds, responseIds } of all) {
        for (const id of responseIds) expect([3, 4, 5, 6]).not.toContain(id)
        await expectScored(generator, joinIds(promptIds, responseIds), media)
      }
    })

    test('prompts of the same ids and other pixels are other prompts', async () => {
      const generator = await connected()
      const { ids, media } = sequences[rows[0]!]!
      const [{ pixels, runs }] = media as [MediaItem]
      const inverted: MediaPixels = { ...pixels, hash: 'inverted', frames: pixels.frames.map(value => 255 - value) }
      await expectScored(generator, ids, media)
      await expectScored(generator, ids, [{ pixels: inverted, runs }])
      expect(
        largestDifference(await scoreOf(ids, media), await scoreOf(ids, [{ pixels: inverted, runs }])),
      ).toBeGreaterThan(0.01)
    })

    test('a picture that the server would resize is a failure that says so', async () => {
      const generator = await connected()
      const { patch, tokens } = model.config.decoder.vision!
      // Larger than its max_pixels.
      const grid = [1, 20, 20] as const
      const pixels: MediaPixels = {
        kind: 'image',
        hash: 'large',
        grid,
        frames: new Uint8Array(3 * (20 * patch) ** 2).fill(9),
      }
      const promptIds = Int32Array.of(tokens.start, ...new Array<number>(100).fill(tokens.image), tokens.end, 20, 21)
      const media = [{ pixels, runs: [{ start: 1, count: 100 }] }]
      const [outcome] = await collect(generator.generate([request(0, { id: 'large', promptIds, media })]))
      expect(outcome).toMatchObject({ kind: 'failed', reason: 'engine' })
      expect((outcome as { message: string }).message).toContain('preprocessor_config.json')
    })

    const newWeights = async (): Promise<void> => {
      const generator = await connected()
      const row = rows.at(-1)!
      const { ids, media } = sequences[row]!
      await expectScored(generator, ids, media)
      const before = await scoreOf(ids, media)
      await model.forwardBackward([sequences[row]!], outputs =>
        outputs.map(({ logprobs }) => ({ logprobs: new Float32Array(logprobs.length).fill(-1) })),
      )
      await model.step({ lr: 0.01 })
      const out = join(temporaryDirectory(), 'trained')
      await model.export(out, { what: 'model' })
      expect(largestDifference(before, await scoreOf(ids, media))).toBeGreaterThan(0.01)
      const proof = { ids, media, logprobs: await scoreOf(ids, media) }
      await generator.updateWeights({ version: ++version, directory: out, proof })
      expect(generator.agreement!.difference).toBeLessThan(tolerance)
      for (const one of rows) await expectScored(generator, sequences[one]!.ids, sequences[one]!.media)
    }
    if (updates)
      test('new weights of the tower are used at once, also for an image that the server has seen', newWeights)
  })
}
