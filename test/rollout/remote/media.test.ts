/** Images and videos through clients of servers: what is sent, what must come back, and servers that do otherwise. */
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
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

/** A server that speaks vLLM's or SGLang's protocol as far as images go, and does wrong what a test says. */
type Fault = 'none' | 'text-only' | 'ignores' | 'expands-twice' | 'silent' | 'later'

async function double(fault: Fault): Promise<{ url: string; bodies: Record<string, unknown>[] }> {
  const bodies: Record<string, unknown>[] = []
  const http = createServer(async (request, response) => {
    const say = (status: number, json: object) =>
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(json))
    const path = request.url!.split('?')[0]!
    const body = await bodyOf(request)
    if (path === '/version') return say(200, { version: '0.32.0' })
    if (path === '/v1/models')
      return say(200, { data: [{ id: 'm', owned_by: 'vllm', parent: null, max_model_len: 512 }] })
    if (path === '/server_info') return say(200, { version: '0.5.23', max_req_input_len: 500 })
    if (path === '/model_info') return say(200, { is_generation: true })
    if (path === '/health' || path === '/ready' || path === '/continue_generation') return say(200, {})
    if (path !== '/inference/v1/generate' && path !== '/generate') return say(404, { detail: 'Not Found' })
    bodies.push(body)
    const isVllm = path === '/inference/v1/generate'
    const ids = (isVllm ? body.token_ids : body.input_ids) as number[]
    const urls = isVllm
      ? ((body.content_parts ?? []) as { url: string }[]).map(({ url }) => url)
      : ((body.image_data ?? []) as string[])
    if (urls.length > 0 && fault === 'text-only') return say(400, { error: { message: 'm is not a multimodal model' } })
    const wrong = fault === 'later' ? bodies.filter(one => one.content_parts ?? one.image_data).length > 1 : true
    const prompt = await expanded(ids, fault === 'ignores' || (fault === 'later' && wrong) ? [] : urls, fault)
    const told = fault === 'silent' ? {} : { prompt_token_ids: prompt }
    const { temperature, top_k } = (body.sampling_params ?? {}) as { temperature: number; top_k: number }
    const logprob = temperature === 2 && top_k === 1 ? 0 : -1
    if (isVllm)
      return say(200, {
        choices: [
          {
            index: 0,
            token_ids: [9],
            finish_reason: 'length',
            logprobs: { content: [{ token_id: 9, logprob, rank: 1, top_logprobs: [] }] },
          },
        ],
        ...told,
      })
    return say(200, {
      output_ids: [9],
      meta_info: {
        finish_reason: { type: 'length' },
        output_token_logprobs: [[-1, 9, null]],
        output_top_logprobs: [[[-1, 9, null]]],
      },
      ...told,
    })
  })
  await new Promise<void>(resolve => http.listen(0, '127.0.0.1', resolve))
  atEnd(() => http.close())
  return { url: `http://127.0.0.1:${(http.address() as AddressInfo).port}`, bodies }
}

async function bodyOf(request: IncomingMessage): Promise<Record<string, unknown>> {
  const parts: Buffer[] = []
  for await (const part of request) parts.push(part as Buffer)
  return parts.length === 0 ? {} : JSON.parse(Buffer.concat(parts).toString())
}

/** As servers do: the first placeholders, one for each image, become as many as its patches make. */
async function expanded(ids: readonly number[], urls: readonly string[], fault: Fault): Promise<number[]> {
  const sizes = await Promise.all(
    urls.map(async url => {
      const { width, height } = await sharp(Buffer.from(url.slice(url.indexOf(',') + 1), 'base64')).metadata()
      return (width * height) / 28 ** 2
    }),
  )
  const once = ids.flatMap(id => (id === 5 && sizes.length > 0 ? new Array<number>(sizes.shift()!).fill(5) : [id]))
  return fault === 'expands-twice' ? once.flatMap(id => (id === 5 ? [5, 5] : [id])) : once
}

describe('servers that do otherwise', async () => {
  const [, one] = await requestsOf('qwen2_5_vl')
  const { config } = await loadModel('qwen2_5_vl')
  const vision = config.decoder.vision!
  const request: GenerationRequest = { ...one!, sampling: { seed: 1, maxNewTokens: 1, temperature: 0 } }
  const clients = [
    ['vllm', connectVllm],
    ['sglang', connectSglang],
  ] as const
  const connected = async (connect: typeof connectVllm, fault: Fault, more = {}) => {
    const it = await double(fault)
    const generator = await connect({ urls: [it.url], vocabSize: 2000, vision, ...more })
    atEnd(() => generator.close())
    return { generator, ...it }
  }

  test.each(clients)(
    '%s: the double itself is read; placeholders are forbidden and pixels arrive whole',
    async (type, connect) => {
      const { generator, bodies } = await connected(connect, 'none')
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
      const { generator } = await connected(connect, fault)
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
    const { generator } = await connected(connect, 'later')
    const outcome = (await outcomes(generator, [request])).get('row 1/0')!
    expect(outcome).toMatchObject({ kind: 'failed', reason: 'engine' })
    expect((outcome as { message: string }).message).toContain('read another prompt')
  })

  test('what does not fit is refused before it is sent', async () => {
    const { generator, bodies } = await connected(connectVllm, 'none')
    const before = bodies.length
    const text = { ...request, media: [] }
    const cut = {
      ...request,
      sampling: { ...request.sampling, truncatePromptTokens: { limit: 4, side: 'left' as const } },
    }
    const [, , , , film] = await requestsOf('qwen2_5_vl')
    for (const [asked, reason, words] of [
      [text, 'media-mismatch', 'placeholders, and media for 0'],
      [cut, 'prompt-too-long', 'only text is truncated'],
      [{ ...film!, sampling: request.sampling }, 'media-unsupported', 'frame rate'],
    ] as const) {
      const [outcome] = [...(await outcomes(generator, [asked])).values()]
      expect(outcome).toMatchObject({ kind: 'rejected', reason })
      expect((outcome as { message: string }).message).toContain(words)
    }
    const blind = await connected(connectVllm, 'none', { vision: undefined })
    const [outcome] = [...(await outcomes(blind.generator, [request])).values()]
    expect(outcome).toMatchObject({ kind: 'rejected', reason: 'media-unsupported' })
    expect(bodies.length).toBe(before)
  })
})
