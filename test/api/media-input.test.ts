/** Rows with images and videos in `score` and `generate`. */
import { copyFileSync, cpSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { generate, LocalModel, score } from '../../src/index.js'
import { MultimodalProcessor } from '../../src/model/index.js'
import { atEnd } from '../support/at-end.js'
import { cli } from '../support/cli.js'
import { expectClose } from '../support/close.js'
import { jsonLines, temporaryDirectory } from '../support/files.js'
import { fixture, readCase } from '../support/models.js'
import { templateFile, tokenizer, tokenizerPath } from '../support/tokenizers.js'
import type { VisionCase } from '../support/vision-models.js'

const golden = readCase<VisionCase & { media: Record<string, { file?: string; frames?: string[]; fps?: number }> }>(
  'qwen2_5_vl',
)
const texts = (golden.rows as unknown as { text: string }[]).map(({ text }) => text)
const chatTemplate = await templateFile(`{% for message in messages %}<|im_start|>{{ message.role }}
{% if message.content is string %}{{ message.content }}{% else %}{% for part in message.content %}{% if part.type == 'text' %}{{ part.text }}{% else %}<|vision_start|><|{{ part.type }}_pad|><|vision_end|>{% endif %}{% endfor %}{% endif %}<|im_end|>
{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant
{% endif %}`)

/** The model with a tokenizer, and the pictures beside the rows. */
const model = temporaryDirectory()
for (const name of ['config.json', 'model.safetensors', 'preprocessor_config.json', 'video_preprocessor_config.json'])
  copyFileSync(join(fixture('qwen2_5_vl'), name), join(model, name))
for (const name of ['tokenizer.json', 'tokenizer_config.json'])
  copyFileSync(join(tokenizerPath, name), join(model, name))
const folder = temporaryDirectory()
const pictures = fileURLToPath(new URL('../fixtures/media/qwen2_5_vl', import.meta.url))
cpSync(pictures, folder, { recursive: true })
const fileOf = (rows: readonly object[]): string => {
  const file = join(folder, 'rows.jsonl')
  writeFileSync(file, rows.map(row => `${JSON.stringify(row)}\n`).join(''))
  return file
}

const columns = (row: number) => {
  const items = golden.rows[row]!.media.map(name => golden.media[name]!)
  return {
    images: items.filter(({ kind }) => kind === 'image').map(({ file }) => file!),
    videos: items.filter(({ kind }) => kind === 'video').map(({ frames, fps }) => ({ frames: frames!, fps: fps! })),
  }
}
const pads = new Set([5, 6])
/** With one placeholder for each item. */
const once = (ids: readonly number[]) => ids.filter((id, i) => !pads.has(id) || ids[i - 1] !== id)
const prompts = golden.rows.map(({ ids, prompt_length }) => ids.slice(0, prompt_length))
const greedy = { temperature: 0, maxNewTokens: 12, ignoreEos: true } as const

async function all<T>(made: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = []
  for await (const one of made) found.push(one)
  return found
}

test('ids with one placeholder for each item, or with all, score as recorded', async () => {
  const rows = golden.rows.flatMap(({ ids }, i) => [
    { ids, ...columns(i) },
    { ids: once(ids), ...columns(i) },
  ])
  const found = await all(score({ model, data: fileOf(rows) }))
  for (const [i, { token_logprobs, entropy, ids }] of golden.rows.entries())
    for (const one of found.slice(2 * i, 2 * i + 2)) {
      expect(one.tokens).toBe(ids.length)
      if (one.score !== undefined) throw new Error('a score')
      expectClose(one.logprobs, token_logprobs, 1e-4, `row ${i}`)
      expectClose(one.entropies, entropy.slice(0, -1), 1e-4, `row ${i}`)
    }
  const output = join(folder, 'scores.jsonl')
  const ran = await cli(['score', '--model', model, '--input', fileOf(rows.slice(0, 4)), '--output', output])
  expect(ran.code, ran.output).toBe(0)
  const written = jsonLines<{ logprobs: number[] }>(output)
  expectClose(written[3]!.logprobs, golden.rows[1]!.token_logprobs, 1e-4, 'command')
})

test('the commands: ids, texts with placeholders and messages continue as recorded', async () => {
  const [text, one, , , video] = texts.map((_, i) => columns(i))
  const messages = (content: readonly object[]) => [{ role: 'user', content }]
  const rows = [
    ...prompts.map((ids, i) => ({ ids: i % 2 ? once(ids) : ids, ...columns(i) })),
    {
      messages: messages([
        { type: 'image', image: one!.images[0] },
        { type: 'text', text: 'Explain the picture' },
      ]),
    },
    {
      messages: messages([{ type: 'text', text: 'Look: ' }, { type: 'image' }, { type: 'text', text: ' Solve it' }]),
      images: 'image3.jpg',
    },
    { prompt: 'Explain the picture', ...one },
    { prompt: '<|vision_start|><|image_pad|><|vision_end|>Explain the picture', ...one },
    { prompt: 'Describe this', ...video },
    { prompt: 'What happens', ...text },
  ]
  const expected = [...golden.rows.keys(), 1, 3, 1, 1, 4, 0].map(i => golden.rows[i]!.greedy_12)
  const output = join(folder, 'out.jsonl')
  const options = ['--temperature', '0', '--max-new-tokens', '12', '--ignore-eos', '--chat-template', chatTemplate]
  const made = await cli(['generate', '--model', model, '--input', fileOf(rows), '--output', output, ...options])
  expect(made.code, made.output).toBe(0)
  const lines = jsonLines<{ ids: number[]; prompt_ids: number[] }>(output)
  expect(lines.map(({ ids }) => ids)).toEqual(expected)
  expect(lines.slice(0, 7).map(({ prompt_ids }) => prompt_ids)).toEqual(prompts)
  const texted = await all(
    generate({
      ...greedy,
      model,
      data: fileOf(texts.map((prompt, i) => ({ prompt, ...columns(i) }))),
      chatTemplate: 'none',
    }),
  )
  expect(texted.map(({ ids }) => [...(ids ?? [])])).toEqual(golden.rows.map(({ greedy_12 }) => greedy_12))
})

test('pairs and conversations with images score as their ids', async () => {
  const answer = 'Stop it'
  const content = [
    { type: 'image', image: 'image0.png' },
    { type: 'text', text: 'Explain the picture' },
  ]
  const said = [...(await tokenizer.encode(answer, { addSpecialTokens: false }))]
  const rows = [
    { ids: [...prompts[1]!, ...said], images: ['image0.png'] },
    { prompt: 'Explain the picture', response: answer, images: ['image0.png'] },
    { prompt: '<image>Explain the picture', response: answer, images: 'image0.png' },
    {
      messages: [
        { role: 'user', content },
        { role: 'assistant', content: answer },
      ],
    },
  ]
  const [ids, ...others] = (await all(score({ model, data: fileOf(rows), chatTemplate }))).map(one =>
    one.score === undefined ? one.logprobs : [],
  )
  for (const other of others) expectClose(other.slice(0, said.length), ids!.slice(-said.length), 1e-5, 'response')
})

test('rows of the page', async () => {
  const page = readFileSync(new URL('../../docs/images.md', import.meta.url), 'utf8')
  const block = /```json\n([^`]+)\n```/.exec(page)![1]!
  const rows = block.split('\n').map(line => JSON.parse(line) as object)
  const found = await all(score({ model, data: fileOf(rows), chatTemplate }))
  expect(found.length).toBe(5)
  for (const one of found) expect(one.score === undefined && one.logprobs.length).toBeGreaterThan(0)
})

test('what is wrong with media is an error of its line', async () => {
  const ids = [1, 3, 5, 4, 9]
  const rows: [object, string][] = [
    [{ ids, images: ['gone.png'] }, 'gone.png: there is no such file'],
    [{ ids, images: ['../outside.png'] }, 'it lies outside'],
    [{ ids, images: [join(pictures, 'image0.png')] }, 'it lies outside'],
    [{ ids: [1, 3, 5, 5, 5, 4], images: ['image0.png'] }, 'expected 1 (one for each), or runs of 8, got runs of 3'],
    [{ ids: [1, 9], images: ['image0.png'] }, 'got none'],
    [{ ids }, 'image placeholders: expected none, got runs of 1'],
    [{ ids, images: ['http://127.0.0.1/a.png'] }, 'http'],
    [{ ids, images: 3 }, 'images: expected a path'],
    [{ ids, audios: ['a.wav'] }, 'local models do not support audio, only text, images and videos'],
  ]
  const data = fileOf([{ ids: [1, 9, 8] }, ...rows.map(([row]) => row)])
  for (const verb of [score, generate]) {
    const error = await all(verb({ model, data }) as AsyncIterable<unknown>).catch((one: Error) => one)
    for (const [i, [, message]] of rows.entries())
      expect((error as Error).message).toMatch(
        new RegExp(`rows.jsonl:${i + 2}\\b.*${message.replace(/[.*+?^${}()]/g, '\\$&')}`),
      )
    expect((error as Error).message).not.toContain('rows.jsonl:1:')
  }
  const cut = all(generate({ model, data: fileOf([{ ids, images: ['image0.png'] }]), truncatePrompt: 6 }))
  await expect(cut).rejects.toThrow('12 tokens, and cannot be cut to 6')
})

test('a model of text says that it reads no images', async () => {
  const data = fileOf([
    { ids: [1, 2] },
    { ids: [1, 5], images: ['image0.png'] },
    {
      messages: [
        { role: 'user', content: [{ type: 'image', image: 'image0.png' }] },
        { role: 'assistant', content: 'a' },
      ],
    },
  ])
  for (const verb of [score, generate]) {
    const error = await all(verb({ model: fixture('qwen2'), tokenizer, data }) as AsyncIterable<unknown>).catch(
      (one: Error) => one,
    )
    for (const line of [2, 3])
      expect((error as Error).message).toMatch(new RegExp(`rows.jsonl:${line}\\b.*this model reads text alone`))
    expect((error as Error).message).not.toContain('rows.jsonl:1')
  }
})

test('a model of the program takes a processor, and any path', async () => {
  const live = await LocalModel.load(model, { role: 'language', device: 'cpu' })
  atEnd(() => live.dispose())
  const { images } = columns(1)
  const data = [{ ids: prompts[1]!, images: [join(pictures, images[0]!)] }]
  await expect(all(generate({ ...greedy, model: live, data }))).rejects.toThrow('processor: missing')
  const encode = (text: string) => tokenizer.encode(text)
  const processor = await MultimodalProcessor.load(model, { encode })
  const found = await all(generate({ ...greedy, model: live, data, processor, n: 2 }))
  expect(found.map(({ ids }) => [...ids!])).toEqual([golden.rows[1]!.greedy_12, golden.rows[1]!.greedy_12])
})

test('bounds on pixels, URLs and the ffmpeg are options, as in a training', async () => {
  const { images } = columns(1)
  const row = { ids: once(prompts[1]!), images }
  const placeholders = (ids: ArrayLike<number>) => Array.from(ids).filter(id => id === 5).length
  const [whole] = await all(generate({ model, data: fileOf([row]), ...greedy }))
  const media = { minPixels: 1, maxPixels: 4 * 28 ** 2 }
  const [small] = await all(generate({ model, data: fileOf([row]), ...greedy, media }))
  if (whole?.error || small?.error) throw new Error('no answer')
  expect(placeholders(whole!.promptIds)).toBe(placeholders(prompts[1]!))
  expect(placeholders(small!.promptIds)).toBeLessThanOrEqual(4)
  const [scored] = await all(score({ model, data: fileOf([row]), media }))
  expect(scored!.tokens).toBe(small!.promptIds.length)

  const output = join(folder, 'bounded.jsonl')
  const bounds = ['--min-pixels', '1', '--max-pixels', `${4 * 28 ** 2}`]
  const ran = await cli(['generate', '--model', model, '--input', fileOf([row]), '--output', output, ...bounds])
  expect(ran.code, ran.output).toBe(0)
  expect(jsonLines<{ prompt_ids: number[] }>(output)[0]!.prompt_ids).toEqual(Array.from(small!.promptIds))

  const remote = { ids: row.ids, images: ['http://127.0.0.1:1/a.png'] }
  await expect(all(score({ model, data: fileOf([remote]) }))).rejects.toThrow('URLs of servers are not read')
  const urls = { urls: 'public' } as const
  await expect(all(score({ model, data: fileOf([remote]), media: urls }))).rejects.toThrow('127.0.0.1')
  writeFileSync(join(folder, 'a.mp4'), 'video')
  const video = { ids: once(prompts[4]!), videos: ['a.mp4'] }
  await expect(all(score({ model, data: fileOf([video]), media: { ffmpeg: '/nowhere/ffmpeg' } }))).rejects.toThrow(
    'there is none at /nowhere/ffmpeg',
  )
})
