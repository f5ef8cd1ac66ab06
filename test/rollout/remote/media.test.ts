/** Images and videos through clients of servers: what is sent, what must come back, and servers that do otherwise. */
import sharp from 'sharp'
import { describe, expect, test } from 'vitest'
import { serve } from '../../../src/api/index.js'
import { MultimodalProcessor } from '../../../src/model/index.js'
import {
  connectSglang,
  connectVllm,
  type GenerationRequest,
  type Generator,
  LocalEngine,
  type Outcome,
} from '../../../src/rollout/index.js'
import { collapsedPrompt } from '../../../src/rollout/remote/sent-media.js'
import { atEnd } from '../../support/at-end.js'
import { type MediaServerOptions, mediaServer, soundTokens } from '../../support/doubles/media-server.js'
import { completed, loadModel } from '../../support/generation.js'
import { tokenizer } from '../../support/tokenizers.js'
import { visionDirectory, visionTemplate } from '../../support/vision-directory.js'
import { readVisionCase, type VisionName, visionFamilies } from '../../support/vision-models.js'

const requestsOf = async (name: VisionName, more: Partial<GenerationRequest> = {}): Promise<GenerationRequest[]> => {
  const { golden, sequences } = await readVisionCase(name)
  return golden.rows.map(({ prompt_length }, row) => ({
    id: `row ${row}`,
    promptIds: sequences[row]!.ids.slice(0, prompt_length),
    media: sequences[row]!.media,
    ...more,
    sampling: { seed: 1, maxNewTokens: 12, temperature: 0, ignoreEos: true, ...more.sampling },
  }))
}

async function outcomes(generator: Generator, requests: readonly GenerationRequest[]): Promise<Map<string, Outcome>> {
  const found = new Map<string, Outcome>()
  for await (const one of generator.generate(requests)) found.set(`${one.requestId}/${one.sample}`, one)
  return found
}

describe.each(visionFamilies)('%s', async name => {
  const { golden, sequences } = await readVisionCase(name)
  const { directory, once } = visionDirectory(name)
  const model = await loadModel(name)
  const vision = model.config.decoder.vision!
  atEnd(() => model.dispose())

  test('a prompt is sent with one placeholder for each item, and expands to itself again', async () => {
    const encode = (text: string) => tokenizer.encode(text, { addSpecialTokens: false })
    const processor = await MultimodalProcessor.load(directory, { encode })
    for (const { promptIds, media } of await requestsOf(name)) {
      const sent = collapsedPrompt(promptIds, media!, vision)
      const kinds = media!.map(({ pixels }) => vision.tokens[pixels.kind])
      expect([...sent].filter(id => id === vision.tokens.image || id === vision.tokens.video)).toEqual(kinds)
      const rates = media!.map(({ pixels: { secondsPerGrid } }) => 2 / (secondsPerGrid ?? 1))
      const raw = media!.map(({ pixels: { frames, grid, kind } }, i) => {
        const [width, height] = [grid[2] * vision.patch, grid[1] * vision.patch]
        const count = frames.length / (3 * width * height)
        return {
          kind,
          item:
            kind === 'image'
              ? { data: frames, width, height }
              : { data: frames, width, height, frames: count, fps: rates[i]! },
        }
      })
      const of = (kind: string) => raw.filter(one => one.kind === kind).map(({ item }) => item)
      const again = await processor.process(sent, { images: of('image'), videos: of('video') })
      expect(again.kind === 'processed' ? again.ids : again).toEqual(promptIds)
    }
    if (name !== 'qwen3_vl')
      expect([...collapsedPrompt(sequences[2]!.ids, sequences[2]!.media, vision)].slice(0, once(2).length)).toEqual(
        once(2),
      )
  })

  test('through our own server every sample equals that of the engine in this process', async () => {
    const server = await serve({ model: directory, chatTemplate: await visionTemplate(), port: 0 })
    atEnd(() => server.close())
    const urls = [`http://127.0.0.1:${server.port}`]
    const remote = await connectVllm({ urls, vocabSize: model.vocabSize, vision, tokenizer })
    const local = new LocalEngine(model, { tokenizer })
    atEnd(async () => {
      await remote.close()
      await local.close()
    })
    expect(remote.capabilities.media).toBe(true)
    const greedy = await requestsOf(name)
    const [found, expected] = [await outcomes(remote, greedy), await outcomes(local, greedy)]
    for (const [id, one] of expected) {
      const [ours, theirs] = [completed(one), completed(found.get(id))]
      expect(theirs.responseIds, id).toEqual(ours.responseIds)
      expect(theirs.promptIds, id).toEqual(ours.promptIds)
      const differences = theirs.logprobs.raw!.map((value, i) => Math.abs(value - ours.logprobs.raw![i]!))
      expect(Math.max(...differences), id).toBeLessThan(1e-5)
    }
    expect([...completed(found.get('row 1/0')).responseIds]).toEqual(golden.rows[1]!.greedy_12)
  })
})

describe('servers that do otherwise', async () => {
  const [, one] = await requestsOf('qwen2_5_vl')
  const { config } = await loadModel('qwen2_5_vl')
  const vision = config.decoder.vision!
  const request: GenerationRequest = { ...one!, sampling: { seed: 1, maxNewTokens: 1, temperature: 0 } }
  const clients = [
    ['vllm', connectVllm],
    ['sglang', connectSglang],
  ] as const
  const connected = async (connect: typeof connectVllm, server: MediaServerOptions = {}, more = {}) => {
    const it = await mediaServer(server)
    const generator = await connect({ urls: [it.url], vocabSize: 2000, vision, ...more })
    atEnd(() => generator.close())
    return { generator, ...it }
  }
  const only = async (generator: Generator, asked: GenerationRequest) => [
    ...(await outcomes(generator, [asked])).values(),
  ]

  test.each(clients)(
    '%s: the double itself is read; placeholders are forbidden and pixels arrive whole',
    async (type, connect) => {
      const { generator, bodies } = await connected(connect)
      expect(generator.capabilities.media).toBe(true)
      expect((await outcomes(generator, [request])).get('row 1/0')).toMatchObject({ kind: 'completed' })
      const body = bodies.at(-1)!
      const url =
        type === 'vllm' ? (body.content_parts as { url: string }[])[0]!.url : (body.image_data as string[])[0]!
      const { data } = await sharp(Buffer.from(url.split(',')[1]!, 'base64'))
        .raw()
        .toBuffer({ resolveWithObject: true })
      expect(new Uint8Array(data)).toEqual(new Uint8Array(request.media![0]!.pixels.frames))
      const { logit_bias } = body.sampling_params as { logit_bias: Record<string, number> }
      expect(Object.keys(logit_bias).map(Number).sort()).toEqual(Object.values(vision.tokens).sort())
    },
  )

  test.each(clients)('%s: a server without images is found at the connection, and says why', async (_, connect) => {
    for (const [fault, words] of [
      ['text-only', 'not a multimodal model'],
      ['ignores', 'ignores images'],
      ['expands-twice', undefined],
      ['silent', 'does not say which tokens'],
    ] as const) {
      const { generator } = await connected(connect, { fault })
      const outcome = (await outcomes(generator, [request])).get('row 1/0')!
      if (words === undefined) {
        // A trial image of twice as many tokens is still an image; the prompt is not ours.
        expect(outcome).toMatchObject({ kind: 'failed', reason: 'engine' })
        expect((outcome as { message: string }).message).toContain('read another prompt')
        continue
      }
      expect(generator.capabilities.media).toBe(false)
      expect(outcome).toMatchObject({ kind: 'rejected', reason: 'media-unsupported' })
      expect((outcome as { message: string }).message).toContain(words)
      expect(
        (await outcomes(generator, [{ ...request, promptIds: Int32Array.of(9, 9), media: [] }])).get('row 1/0'),
      ).toMatchObject({ kind: 'completed' })
    }
  })

  test.each(clients)('%s: an image that is lost on the way is a failure, not a sample', async (_, connect) => {
    const { generator } = await connected(connect, { fault: 'later' })
    const outcome = (await outcomes(generator, [request])).get('row 1/0')!
    expect(outcome).toMatchObject({ kind: 'failed', reason: 'engine' })
    expect((outcome as { message: string }).message).toContain('read another prompt')
  })

  test('what does not fit is refused before it is sent', async () => {
    const { generator, bodies } = await connected(connectVllm, { videoKwargs: null })
    const before = bodies.length
    const text = { ...request, media: [] }
    const cut = {
      ...request,
      sampling: { ...request.sampling, truncatePromptTokens: { limit: 4, side: 'left' as const } },
    }
    const [, , , , film] = await requestsOf('qwen2_5_vl')
    for (const [asked, reason, words] of [
      [text, 'media-mismatch', 'placeholders of images, and images for 0'],
      [cut, 'prompt-too-long', 'only text is truncated'],
      [{ ...film!, sampling: request.sampling }, 'media-unsupported', '--trust-request-mm-kwargs'],
    ] as const) {
      const [outcome] = [...(await outcomes(generator, [asked])).values()]
      expect(outcome).toMatchObject({ kind: 'rejected', reason })
      expect((outcome as { message: string }).message).toContain(words)
    }
    const blind = await connected(connectVllm, {}, { vision: undefined })
    const [outcome] = [...(await outcomes(blind.generator, [request])).values()]
    expect(outcome).toMatchObject({ kind: 'rejected', reason: 'media-unsupported' })
    expect(bodies.length).toBe(before)
  })

  const film = { ...(await requestsOf('qwen2_5_vl'))[5]!, sampling: request.sampling }

  test('a video with its own frame rate is prepared by vLLM once, and goes with the expanded prompt', async () => {
    const { generator, bodies, prepared } = await connected(connectVllm, { trusts: true })
    const before = prepared.length
    expect((await only(generator, { ...film, n: 3 })).map(({ kind }) => kind)).toEqual(new Array(3).fill('completed'))
    // The image and the video of the prompt, for all samples.
    expect(prepared.slice(before).map(one => one.media_io_kwargs)).toEqual([
      undefined,
      { video: { fps: 3, num_frames: -1 } },
    ])
    const { token_ids, features, content_parts } = bodies.at(-1)! as {
      features: Record<string, Record<string, object[]>>
    } & (typeof bodies)[0]
    expect(content_parts).toBeUndefined()
    expect(token_ids).toEqual([...film.promptIds])
    const runs = film.media!.map(({ runs: [run] }) => ({ offset: run!.start, length: run!.count }))
    expect(features.mm_placeholders).toEqual({ image: [runs[0]], video: [runs[1]] })
    expect(features.mm_hashes).toEqual({ image: [`hash ${before + 1}`], video: [`hash ${before + 2}`] })
    expect(features.kwargs_data).toEqual({ image: [`pixels ${before + 1}`], video: [`pixels ${before + 2}`] })
  })

  test('a server with one frame rate takes videos of that rate, and says so of others', async () => {
    const fits = await connected(connectVllm, { videoKwargs: { fps: 3 } })
    expect(await only(fits.generator, film)).toMatchObject([{ kind: 'completed' }])
    expect(fits.bodies.at(-1)!.content_parts).toMatchObject([{ type: 'image_url' }, { type: 'video_url' }])
    // What a server takes that says nothing: 1.
    const other = await connected(connectVllm)
    expect(await only(other.generator, film)).toMatchObject([
      { kind: 'rejected', reason: 'media-unsupported', message: expect.stringContaining('takes 1 frames of a second') },
    ])
    const texts = (await loadModel('qwen3_vl')).config.decoder.vision!
    const third = await connected(connectVllm, { times: 'text', trusts: true }, { vision: texts })
    const asked = { ...(await requestsOf('qwen3_vl'))[4]!, sampling: request.sampling }
    expect(await only(third.generator, asked)).toMatchObject([
      { kind: 'rejected', message: expect.stringContaining('--media-io-kwargs') },
    ])
    expect(third.generator.capabilities.media).toBe(true)
  })

  test('SGLang takes no videos, and the reason is said', async () => {
    const { generator } = await connected(connectSglang)
    expect(await only(generator, film)).toMatchObject([
      { kind: 'rejected', reason: 'media-unsupported', message: expect.stringContaining('only as files') },
    ])
  })

  test('both phases of a hot first token carry the image, and the video as it was prepared', async () => {
    const { generator, bodies } = await connected(connectVllm, { trusts: true })
    const sampling = { seed: 1, maxNewTokens: 2, temperature: 1, firstTemperature: 5, topK: 3, ignoreEos: true }
    for (const asked of [request, film]) {
      const before = bodies.length
      expect(await only(generator, { ...asked, sampling })).toMatchObject([{ kind: 'completed' }])
      const [first, second] = bodies.slice(before) as [Record<string, number[]>, Record<string, number[]>]
      const field = asked === film ? 'features' : 'content_parts'
      expect(second[field]).toEqual(first[field])
      expect(second[field]).toBeDefined()
      expect(second.token_ids!.slice(0, -1)).toEqual(first.token_ids)
    }
  })

  describe('sounds', async () => {
    const audioId = 7
    const clip = { bytes: Uint8Array.of(1, 2, 3), samplingRate: 16_000, mimeType: 'audio/wav' }
    const heard: GenerationRequest = {
      id: 'supported',
      promptIds: Int32Array.of(20, audioId, 21, audioId, 22),
      audios: [clip, { ...clip, bytes: Uint8Array.of(4) }],
      sampling: request.sampling,
    }
    const audio = { token: audioId }

    test.each(clients)(
      '%s: go beside the ids, are forbidden to be sampled, and the prompt is compared',
      async (type, connect) => {
        const { generator, bodies } = await connected(connect, { audioId }, { audio })
        expect(generator.capabilities.audio).toBe(true)
        const [outcome] = await only(generator, heard)
        expect(completed(outcome).promptIds).toEqual(heard.promptIds)
        const body = bodies.at(-1)!
        const urls = ['data:audio/wav;base64,AQID', 'data:audio/wav;base64,BA==']
        if (type === 'vllm') expect(body.content_parts).toEqual(urls.map(url => ({ type: 'audio_url', url })))
        else expect(body.audio_data).toEqual(urls)
        const { logit_bias } = body.sampling_params as { logit_bias: Record<string, number> }
        expect(Object.keys(logit_bias)).toContain(String(audioId))
        expect(soundTokens).toBeGreaterThan(1)
        // An image beside them.
        const both = { ...request, promptIds: Int32Array.of(...request.promptIds, audioId), audios: [clip] }
        expect(await only(generator, both)).toMatchObject([{ kind: 'completed' }])
      },
    )

    test.each(clients)('%s: a server that is deaf says why, also one that ignores them', async (_, connect) => {
      for (const [server, options, words] of [
        [{}, { audio }, 'does not hear sounds (it answered 400'],
        [{ audioId, fault: 'ignores' }, { audio }, 'ignores sounds'],
        [{ audioId }, {}, 'connected without `audio`'],
      ] as const) {
        const { generator } = await connected(connect, server, options)
        expect(generator.capabilities.audio).toBe(false)
        expect(await only(generator, heard)).toMatchObject([
          { kind: 'rejected', reason: 'media-unsupported', message: expect.stringContaining(words) },
        ])
      }
      const lost = await connected(connect, { audioId, fault: 'later' }, { audio, vision: undefined })
      expect(
        await only(lost.generator, { ...heard, promptIds: Int32Array.of(20, audioId), audios: [clip] }),
      ).toMatchObject([{ kind: 'failed', message: expect.stringContaining('read another prompt') }])
      const { generator } = await connected(connect, { audioId }, { audio })
      expect(await only(generator, { ...heard, audios: [clip] })).toMatchObject([
        {
          kind: 'rejected',
          reason: 'media-mismatch',
          message: expect.stringContaining('2 placeholders of sounds, and 1'),
        },
      ])
    })
  })
})
