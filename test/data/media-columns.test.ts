import { dirname } from 'node:path'
import { expect, test } from 'vitest'
import { readPrompts } from '../../src/data/index.js'
import { jsonl } from '../support/files.js'

test('columns of images and videos belong to the prompt, with the directory of the file', async () => {
  const parts = [
    { type: 'image', image: 'c.png' },
    { type: 'text', text: 'What?' },
  ]
  const file = jsonl([
    { prompt: 'Count', images: ['a.png', null, 'b.png'], target: '2' },
    { prompt: 'One', image: 'a.png' },
    { prompt: 'None', images: null },
    { prompt: 'None', images: [], videos: [] },
    { messages: [{ role: 'user', content: parts }] },
    { prompt: 'Time', videos: [{ frames: ['0.png', '1.png'], fps: 2 }] },
  ])
  const mediaRoot = dirname(file)
  const { prompts } = await readPrompts(file)
  expect(prompts.map(({ images, videos, mediaRoot: root }) => ({ images, videos, root }))).toEqual([
    { images: ['a.png', 'b.png'], root: mediaRoot },
    { images: ['a.png'], root: mediaRoot },
    {},
    {},
    { root: mediaRoot },
    { videos: [{ frames: ['0.png', '1.png'], fps: 2 }], root: mediaRoot },
  ])
  expect(prompts[4]!.prompt).toEqual([{ role: 'user', content: parts }])
})

test('a column that holds no media is a bad row', async () => {
  await expect(readPrompts(jsonl([{ prompt: 'a', images: 3 }]))).rejects.toThrow('images: expected a path')
})
