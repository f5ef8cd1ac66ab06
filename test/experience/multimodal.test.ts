import { copyFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { openDataset } from '../../src/data/index.js'
import { MultimodalDataProcessor } from '../../src/experience/index.js'
import { encodePrompt } from '../../src/experience/prompts.js'
import { MultimodalProcessor } from '../../src/model/index.js'
import { Tokenizer } from '../../src/text/index.js'
import { temporaryDirectory } from '../support/files.js'
import { templateFile, tokenizer, tokenizerPath } from '../support/tokenizers.js'

const fixtures = fileURLToPath(new URL('../fixtures', import.meta.url))
const pictures = join(fixtures, 'media/qwen2_5_vl')
const encode = (text: string) => tokenizer.encode(text, { addSpecialTokens: false })
const processor = await MultimodalProcessor.load(join(fixtures, 'models/qwen2_5_vl'), {
  encode,
  baseDirectory: pictures,
})
const image = '<|vision_start|><|image_pad|><|vision_end|>'
const video = '<|vision_start|><|video_pad|><|vision_end|>'
const frames = { frames: ['video0/00.png', 'video0/01.png', 'video0/02.png'], fps: 2 }

const template = `{% for message in messages %}<|im_start|>{{ message.role }}
{% if message.content is string %}{{ message.content }}{% else %}{% for part in message.content %}{% if part.type == 'image' %}<|vision_start|><|image_pad|><|vision_end|>{% else %}{{ part.text }}{% endif %}{% endfor %}{% endif %}<|im_end|>
{% endfor %}`
const vision = await Tokenizer.load(tokenizerPath, { chatTemplate: await templateFile(template) })

describe('MultimodalDataProcessor', () => {
  const multimodal = new MultimodalDataProcessor({ tokenizer, processor, promptMaxLen: 100 })

  test('text and media rows keep their order, N times, and samples share their pixels', async () => {
    const found = await multimodal.processMultimodalBatch({
      allPrompts: ['Count them', `${image}and ${image}Which`, `${image}Read${video}`, 'Solve it', `${video}Why`],
      allImages: [null, ['image1.png', 'image2.png'], 'image0.png', [], null],
      allVideos: [null, null, [frames], null, frames],
      allReferences: ['a', 'b', 'c', 'd', 'e'],
      nSamplesPerPrompt: 2,
    })
    expect(found.failed).toEqual([])
    expect(found.allReferences).toEqual([...'aabbccddee'])
    expect(found.allImagesNum).toEqual([0, 0, 2, 2, 1, 1, 0, 0, 0, 0])
    expect(found.allVideosNum).toEqual([0, 0, 0, 0, 1, 1, 0, 0, 1, 1])
    expect(found.allImagesGridThw[0]).toEqual([])
    expect(found.allImagesGridThw[3]).toEqual([
      [1, 16, 2],
      [1, 10, 14],
    ])
    expect(found.allVideosGridThw[9]).toEqual([[2, 4, 4]])
    expect(found.allPromptTokenIds[0]).toEqual(await encode('Count them'))
    const [first, second] = [found.allMedia[2]!, found.allMedia[3]!]
    expect(first).toBe(second)
    expect(first.map(({ runs }) => runs[0]!.count)).toEqual([8, 35])
    for (const [sample, media] of found.allMedia.entries()) {
      const ids = found.allPromptTokenIds[sample]!
      const pads = ids.filter(id => id === 5 || id === 6).length
      expect(media.flatMap(({ runs }) => runs).reduce((sum, { count }) => sum + count, 0)).toBe(pads)
    }
    expect(found.allImages.slice(0, 5)).toEqual([
      null,
      null,
      ['image1.png', 'image2.png'],
      ['image1.png', 'image2.png'],
      'image0.png',
    ])
  })

  test('a bad row fails alone', async () => {
    const found = await multimodal.processMultimodalBatch({
      allPrompts: [`${image}a`, `${image}b`, `${image}${image}c`, `${image}d`, 'e'],
      allImages: ['gone.png', 'image0.png', 'image0.png', new Array(4).fill('image2.png'), null],
      nSamplesPerPrompt: 1,
    })
    expect(found.failed.map(({ prompt, reason }) => [prompt, reason])).toEqual([
      [0, 'missing'],
      [2, 'form'],
      [3, 'form'],
    ])
    expect(found.failed[1]!.message).toContain('expected 1 (one for each), or runs of 8, got runs of 1, 1')
    expect(found.allPromptTokenIds.map(ids => ids !== null)).toEqual([false, true, false, false, true])
  })

  test('text is cut, media are not', async () => {
    const short = new MultimodalDataProcessor({ tokenizer, processor, promptMaxLen: 10 })
    const found = await short.processMultimodalBatch({
      allPrompts: ['How many apples does Tony pick and how many are left for the others', `${image}a`],
      allImages: [null, 'image2.png'],
      nSamplesPerPrompt: 1,
    })
    expect(found.allPromptTokenIds[0]!.length).toBe(10)
    expect(found.failed).toMatchObject([{ prompt: 1, reason: 'prompt-too-long' }])
  })

  test('lists that do not fit are refused', async () => {
    const make = (batch: object) =>
      multimodal.processMultimodalBatch({ allPrompts: ['a'], nSamplesPerPrompt: 1, ...batch } as never)
    await expect(make({ allImages: [] })).rejects.toThrow('allImages: expected an entry for each of 1 prompts, got 0')
    await expect(make({ nSamplesPerPrompt: 0 })).rejects.toThrow('nSamplesPerPrompt')
    const text = new MultimodalDataProcessor({ tokenizer, processor: null, promptMaxLen: 10 })
    await expect(
      text.processMultimodalBatch({ allPrompts: [image], allImages: ['a'], nSamplesPerPrompt: 1 }),
    ).rejects.toThrow('need a vision-language model and its processor')
  })
})

describe('prompts of the maker', () => {
  const options = {
    tokenizer,
    processor,
    promptTruncation: 'left',
    chatTemplate: 'none',
    limit: 60,
    promptId: 'p',
  } as const

  test('ids with one placeholder for each item are expanded, expanded ones stay', async () => {
    const ids = await encode(`${image}Read`)
    const once = await encodePrompt({ prompt: ids, images: ['image0.png'] }, options)
    expect(once.sequence.media).toMatchObject([
      { pixels: { kind: 'image', grid: [1, 4, 8] }, runs: [{ start: 1, count: 8 }] },
    ])
    expect(once.sequence.ids.length).toBe(ids.length + 7)
    const again = await encodePrompt({ prompt: once.sequence.ids, images: ['image0.png'] }, options)
    expect(again.sequence.ids).toEqual(once.sequence.ids)
    expect(again.sequence.media[0]!.pixels).toBe(once.sequence.media[0]!.pixels)
  })

  test('messages with parts, and texts with columns, become the same sequence', async () => {
    const parts = [
      { type: 'image', image: 'image0.png' },
      { type: 'text', text: 'Read' },
    ]
    const given = { ...options, tokenizer: vision, chatTemplate: 'auto' } as const
    const [a, b, c] = await Promise.all([
      encodePrompt({ prompt: [{ role: 'user', content: parts }] }, given),
      encodePrompt({ prompt: 'Read', images: ['image0.png'] }, given),
      encodePrompt({ prompt: '<image>Read', images: ['image0.png'] }, given),
    ])
    expect(a.sequence.media.length).toBe(1)
    expect(a.sequence.ids.filter(id => id === 5).length).toBe(8)
    for (const other of [b, c]) expect(other.sequence).toEqual(a.sequence)
  })

  test('a prompt that is too long with its media is not cut', async () => {
    const ids = await encode(`${image}Read the sign`)
    const found = await encodePrompt({ prompt: ids, images: ['image2.png'] }, { ...options, limit: 30 })
    expect(found).toMatchObject({ tooLong: true, cutTokens: 0 })
  })

  test('what cannot be used is a problem of the prompt', async () => {
    const ids = await encode(image)
    const { mediaProblem } = await encodePrompt({ prompt: ids, images: ['gone.png'] }, options)
    expect(mediaProblem).toContain('gone.png: there is no such file')
    await expect(encodePrompt({ prompt: ids, images: ['a'] }, { ...options, processor: undefined })).rejects.toThrow(
      'need a vision-language model',
    )
  })

  test('paths of a file start at its directory and stay inside', async () => {
    const mediaRoot = temporaryDirectory()
    copyFileSync(join(pictures, 'image0.png'), join(mediaRoot, 'a.png'))
    const ids = await encode(image)
    const at = (path: string) => encodePrompt({ prompt: ids, images: [path], mediaRoot }, options)
    expect((await at('a.png')).sequence.media.length).toBe(1)
    expect((await at('../x.png')).mediaProblem).toContain('it lies outside')
    expect((await at(join(pictures, 'image0.png'))).mediaProblem).toContain('it lies outside')
  })
})

describe('rows of supervised trainings', () => {
  const parts = (path: string) => [
    { type: 'image', image: path },
    { type: 'text', text: 'Read the sign' },
  ]
  const rows = [
    {
      messages: [
        { role: 'user', content: parts('image0.png') },
        { role: 'assistant', content: 'Stop' },
      ],
    },
    {
      messages: [
        { role: 'user', content: 'Count <image>' },
        { role: 'assistant', content: 'Two' },
      ],
      images: ['image1.png'],
    },
    {
      messages: [
        { role: 'user', content: 'Hello' },
        { role: 'assistant', content: 'Hi' },
      ],
    },
    {
      messages: [
        { role: 'user', content: parts('gone.png') },
        { role: 'assistant', content: 'No' },
      ],
    },
  ]
  const options = {
    validationShare: 0,
    trainOn: 'assistant',
    maxBadRows: 10,
    shuffle: false,
    seed: 0,
    baseDirectory: '.',
    chatTemplate: 'auto',
    maxLength: 60,
    overlong: 'truncate',
  } as const

  test('media are expanded, their tokens are not trained, and bad rows are left out', async () => {
    const directory = temporaryDirectory()
    for (const name of ['image0.png', 'image1.png']) copyFileSync(join(pictures, name), join(directory, name))
    const file = join(directory, 'rows.jsonl')
    writeFileSync(file, rows.map(row => `${JSON.stringify(row)}\n`).join(''))
    const dataset = await openDataset('conversations', file, options)
    dataset.readMediaWith(processor)
    const found = await dataset.train(vision).take(3)
    await dataset.close()
    expect(found.map(({ sequence }) => sequence.media.map(({ pixels }) => pixels.grid))).toEqual([
      [[1, 4, 8]],
      [[1, 16, 2]],
      [],
    ])
    const [{ sequence }] = found as [(typeof found)[0]]
    const [{ start, count }] = sequence.media[0]!.runs as [{ start: number; count: number }]
    expect([...sequence.ids.subarray(start - 1, start + count + 1)]).toEqual([3, ...new Array(8).fill(5), 4])
    expect(sequence.trained.subarray(0, start + count).includes(1)).toBe(false)
    const answer = sequence.ids.filter((_, i) => sequence.trained[i] === 1)
    expect(await vision.decode(answer)).toContain('Stop')
    expect(sequence.origin.length).toBe(sequence.ids.length)
  })

  test('rows with media are left out for a model of text', async () => {
    const directory = temporaryDirectory()
    const file = join(directory, 'rows.jsonl')
    writeFileSync(file, rows.map(row => `${JSON.stringify(row)}\n`).join(''))
    const dataset = await openDataset('conversations', file, options)
    dataset.readMediaWith(null)
    const found = await dataset.train(vision).take(1)
    await dataset.close()
    expect(found.map(({ sequence }) => sequence.media)).toEqual([[]])
  })
})

test('a model of text has no processor', async () => {
  await expect(MultimodalProcessor.load(join(fixtures, 'models/qwen2'), { encode })).rejects.toThrow('reads text alone')
})
