/** Requests with images and videos, as clients of OpenAI and of vLLM send them. */
import { copyFileSync, mkdirSync, readFileSync, symlinkSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import OpenAI from 'openai'
import { expect, test } from 'vitest'
import { type Serving, serve } from '../../src/api/index.js'
import { atEnd } from '../support/at-end.js'
import { temporaryDirectory } from '../support/files.js'
import { post, send } from '../support/serve.js'
import { widerDirectory } from '../support/tiny-model.js'
import { visionDirectory, visionTemplate } from '../support/vision-directory.js'

const { directory, pictures, golden, dataUrl, once, prompt } = visionDirectory('qwen2_5_vl')
const root = temporaryDirectory()
copyFileSync(join(pictures, 'image0.png'), join(root, 'image0.png'))

async function start(options: Partial<Parameters<typeof serve>[0]> = {}): Promise<Serving> {
  const server = await serve({ model: directory, chatTemplate: await visionTemplate(), port: 0, ...options })
  atEnd(() => server.close())
  return server
}
const server = await start({ media: { root, maxItems: 4, limits: { maxPixels: 1_000_000 } } })

const image = (url: string) => ({ type: 'image_url', image_url: { url, detail: 'high' } })
const text = (words: string) => ({ type: 'text', text: words })
const ask = (content: unknown, more: object = {}, port = server.port) =>
  post(port, '/v1/chat/completions', {
    messages: [{ role: 'user', content }],
    ...{ temperature: 0, max_tokens: 12, ignore_eos: true, return_token_ids: true, logprobs: true },
    ...more,
  })
const framesOf = (name: string) => golden.media[name]!.frames!.map(dataUrl)
/** As vLLM takes frames. */
const framesUrl = (name: string) =>
  `data:video/jpeg;base64,${framesOf(name).map(url => url.slice(url.indexOf(',') + 1))}`

test('image_url parts continue as recorded, and count every token of an image', async () => {
  const two = [image(dataUrl('image1.png')), text(' and '), image(dataUrl('image0.png'))]
  const row1 = [image(dataUrl('image0.png')), text('Explain the picture')]
  const row3 = [text('Look: '), image(dataUrl('image3.jpg')), text(' Solve it')]
  for (const [row, content] of [
    [1, row1],
    [3, row3],
  ] as const) {
    const { status, body } = await ask(content)
    expect(status, JSON.stringify(body)).toBe(200)
    expect(body.prompt_token_ids).toEqual(prompt(row))
    expect(body.choices[0].token_ids).toEqual(golden.rows[row]!.greedy_12)
    expect(body.usage).toEqual({
      prompt_tokens: prompt(row).length,
      total_tokens: prompt(row).length + 12,
      completion_tokens: 12,
    })
  }
  const [several, counted] = [
    await ask(two, { n: 2, temperature: 1, seed: 1 }),
    await post(server.port, '/tokenize', { messages: [{ role: 'user', content: two }] }),
  ]
  expect(several.body.choices).toHaveLength(2)
  expect(several.body.usage.prompt_tokens).toBe(counted.body.count)
  expect(several.body.prompt_token_ids).toEqual(counted.body.tokens)
})

test('videos: frames with their rate, as vLLM and as lists', async () => {
  const row = golden.rows.findIndex(({ media }) => media.length === 1 && golden.media[media[0]!]!.kind === 'video')
  const [name] = golden.rows[row]!.media as [string]
  const { fps } = golden.media[name]!
  const asked = text('Describe this')
  const whole = await ask([{ type: 'video_url', video_url: { url: framesUrl(name) } }, asked], {
    media_io_kwargs: { video: { fps, num_frames: -1 } },
  })
  const listed = await ask([{ type: 'video', video: framesOf(name), fps }, asked])
  for (const { status, body } of [whole, listed]) {
    expect(status, JSON.stringify(body)).toBe(200)
    expect(body.prompt_token_ids).toEqual(prompt(row))
    expect(body.choices[0].token_ids).toEqual(golden.rows[row]!.greedy_12)
  }
  const refused = await ask([asked], { media_io_kwargs: { video: { frames_indices: [0] } } })
  expect(refused.body.error).toMatchObject({ param: 'body.media_io_kwargs', code: 400 })
})

test('the route of token ids takes one placeholder for each item, or all, and tells the expanded prompt', async () => {
  const sampling_params = { temperature: 0, max_tokens: 12, ignore_eos: true, logprobs: 0 }
  for (const [row, { media, greedy_12 }] of golden.rows.entries()) {
    const content_parts = media.map(name => {
      const { kind, file, fps } = golden.media[name]!
      return kind === 'image'
        ? { type: 'image_url', url: dataUrl(file!) }
        : { type: 'video_url', url: framesUrl(name), fps }
    })
    for (const token_ids of [once(row), prompt(row)]) {
      const body = { token_ids, content_parts, sampling_params, return_token_ids: true }
      const answer = await post(server.port, '/inference/v1/generate', body)
      expect(answer.status, JSON.stringify(answer.body)).toBe(200)
      expect(answer.body.prompt_token_ids).toEqual(prompt(row))
      expect(answer.body.choices[0].token_ids).toEqual(greedy_12)
    }
  }
  const content_parts = [{ type: 'image_url', url: dataUrl('image0.png') }]
  const body = { token_ids: once(1), content_parts, sampling_params, return_token_ids: true, stream: true }
  const streamed = await send(server.port, '/inference/v1/generate', body)
  expect(JSON.parse(streamed.text.split('\n')[0]!.slice(6)).choices[0].prompt_token_ids).toEqual(prompt(1))
})

test('files under the root are read, others and other servers are not', async () => {
  const outside = temporaryDirectory()
  copyFileSync(join(pictures, 'image0.png'), join(outside, 'secret.png'))
  symlinkSync(join(outside, 'secret.png'), join(root, 'link.png'))
  mkdirSync(join(root, 'folder'))
  const url = (file: string) => pathToFileURL(join(root, file)).href
  const read = await ask([image(url('image0.png')), text('Explain the picture')])
  expect(read.body.choices[0].token_ids).toEqual(golden.rows[1]!.greedy_12)
  for (const [named, words] of [
    [pathToFileURL(join(outside, 'secret.png')).href, 'lies outside'],
    [`file://${root}/../${outside.split('/').at(-1)}/secret.png`, 'lies outside'],
    [url('link.png'), 'lies outside'],
    [url('missing.png'), 'no such file'],
    [url('folder'), 'not a file'],
    ['http://127.0.0.1:1/a.png', 'fetches no URLs'],
    [join(root, 'image0.png'), 'expected a URL'],
    ['ftp://example.com/a.png', 'expected a URL'],
  ] as const) {
    const { status, body } = await ask([image(named), text('Explain')])
    expect([status, body.error.param], named).toEqual([400, 'messages'])
    expect(body.error.message, named).toContain(words)
  }
  const without = await start()
  const refused = await ask([image(url('image0.png'))], {}, without.port)
  expect(refused.body.error.message).toContain('--media-root')
})

test('bounds on pixels are those of the training', async () => {
  const small = await start({ media: { minPixels: 1, maxPixels: 4 * 28 ** 2 } })
  const { body } = await ask([image(dataUrl('image0.png')), text('Explain the picture')], {}, small.port)
  const tokens = body.prompt_token_ids.filter((id: number) => id === golden.token_ids['<|image_pad|>']).length
  expect([tokens > 0, tokens <= 4]).toEqual([true, true])
})

test('URLs of servers where they are allowed', async () => {
  const web = createServer((_, response) =>
    response.setHeader('content-type', 'image/png').end(readFileSync(join(root, 'image0.png'))),
  )
  await new Promise<void>(resolve => web.listen(0, '127.0.0.1', resolve))
  atEnd(() => web.close())
  const url = `http://127.0.0.1:${(web.address() as AddressInfo).port}/image.png`
  const any = await start({ media: { urls: { addresses: 'any' } } })
  const publicOnly = await start({ media: { urls: { addresses: 'public' } } })
  const content = [image(url), text('Explain the picture')]
  expect((await ask(content, {}, any.port)).body.choices[0].token_ids).toEqual(golden.rows[1]!.greedy_12)
  const refused = await ask(content, {}, publicOnly.port)
  expect(refused.status).toBe(400)
  expect(refused.body.error.message).toContain('not of the public internet')
})

test('what cannot be read is an error of the request, and the server goes on', async () => {
  const png = readFileSync(join(pictures, 'image0.png'))
  const as = (bytes: Buffer, type = 'image/png') => `data:${type};base64,${bytes.toString('base64')}`
  const large = Buffer.from(png)
  // The header says 40,000 x 40,000 pixels.
  large.writeUInt32BE(40_000, 16)
  large.writeUInt32BE(40_000, 20)
  const one = image(dataUrl('image0.png'))
  for (const [content, words] of [
    [[image(as(png.subarray(0, 60)))], 'image 1: it cannot be decoded'],
    [[one, image(as(Buffer.from('no image')))], 'image 2: it is not an image that can be read'],
    [[image(as(Buffer.alloc(0)))], 'image 1: it has no bytes'],
    [[image(as(large))], 'image 1: it has more than 1000000 pixels'],
    [[image('data:image/png;base64,@@@@@@@@')], 'image 1: the base64 of its data: URL is damaged'],
    [[image(as(Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"/>'), 'image/svg+xml'))], ''],
    [[image('data:image/png,abc')], 'base64'],
    [[image('data:image/png')], 'comma'],
    [[{ type: 'image_url', image_url: { url: 7 } }], 'expected a URL'],
    [[{ type: 'image_url' }], 'places for 1'],
    [[one, one, one, one, one], 'may have 4 images'],
    [[{ type: 'input_audio', input_audio: { data: '', format: 'wav' } }], 'input_audio'],
    [[text('<|vision_start|><|image_pad|><|vision_end|>')], 'placeholder'],
    [[one, text('<|image_pad|>')], 'placeholder'],
    [[{ type: 'video_url', video_url: { url: as(png, 'video/mp4') } }], ''],
  ] as const) {
    const { status, body } = await ask(content)
    expect(status, JSON.stringify(body).slice(0, 300)).toBe(400)
    expect(body.error.type).toBe('BadRequestError')
    expect(body.error.message).toContain(words)
  }
  const { status } = await ask([one, text('Explain the picture')])
  expect(status).toBe(200)
})

test('a model that reads text alone names the part', async () => {
  const plain = await start({ model: await widerDirectory() })
  const { status, body } = await ask([image(dataUrl('image0.png'))], {}, plain.port)
  expect(status).toBe(400)
  expect(body.error.message).toContain('a part of type "image_url": this model takes only text')
  const given = { token_ids: [1, 2], content_parts: [{ type: 'image_url', url: dataUrl('image0.png') }] }
  const tokens = await post(plain.port, '/inference/v1/generate', given)
  expect(tokens.body.error).toMatchObject({ code: 400, param: 'content_parts' })
})

test('by the official client: an answer, a stream, and errors with a status, also of a body that is too large', async () => {
  const small = await start({ maxBodyBytes: 2 ** 20 })
  const client = new OpenAI({ baseURL: small.url, apiKey: 'none', maxRetries: 0 })
  const create = (url: string) => {
    const content = [
      { type: 'image_url' as const, image_url: { url } },
      { type: 'text' as const, text: 'Explain the picture' },
    ]
    return { model: small.name, messages: [{ role: 'user' as const, content }], max_tokens: 4, temperature: 0 }
  }
  const whole = await client.chat.completions.create(create(dataUrl('image0.png')))
  expect(whole.usage).toMatchObject({ prompt_tokens: prompt(1).length, completion_tokens: 4 })
  let streamed = ''
  for await (const { choices } of await client.chat.completions.create({
    ...create(dataUrl('image0.png')),
    stream: true,
  }))
    streamed += choices[0]?.delta.content ?? ''
  expect(streamed).toBe(whole.choices[0]!.message.content)
  const broken = client.chat.completions.create(create('data:image/png;base64,bm8='))
  await expect(broken).rejects.toMatchObject({
    status: 400,
    message: expect.stringContaining('image 1: it is not an image'),
  })
  const large = client.chat.completions.create(create(`data:image/png;base64,${'A'.repeat(3 * 2 ** 20)}`))
  await expect(large).rejects.toMatchObject({
    status: 413,
    message: expect.stringContaining('larger than 1048576 bytes'),
  })
})
