import { describe, expect, test } from 'vitest'
import { placeMedia } from '../../src/text/index.js'

const user = (content: unknown) => ({ role: 'user', content }) as never
const text = (words: string) => ({ type: 'text', text: words })
const image = { type: 'image' }
const video = { type: 'video' }

describe('media of columns', () => {
  test('stand before the first text of the user', () => {
    expect(placeMedia('What?', { images: ['a', 'b'], videos: ['v'] })).toEqual({
      prompt: [user([image, image, video, text('What?')])],
      images: ['a', 'b'],
      videos: ['v'],
    })
    const system = { role: 'system', content: 'Be brief.' }
    const found = placeMedia([system, user('One'), user('Two')], { images: ['a'] })
    expect(found.prompt).toEqual([system, user([image, text('One')]), user('Two')])
  })

  test('go to the marks of a text', () => {
    const found = placeMedia('First <image> then <video>, and<image>', { images: ['a', 'b'], videos: ['v'] })
    expect(found.prompt).toEqual([user([text('First '), image, text(' then '), video, text(', and'), image])])
    expect([found.images, found.videos]).toEqual([['a', 'b'], ['v']])
    expect(placeMedia('an <image> and a <video>', { images: ['a'] }).prompt).toEqual([
      user([text('an '), image, text(' and a '), text('<video>')]),
    ])
  })

  test('go to parts that hold none, in order', () => {
    const found = placeMedia([user([image, text('x'), image])], { images: ['a', 'b'] })
    expect(found).toMatchObject({ prompt: [user([image, text('x'), image])], images: ['a', 'b'] })
  })
})

test('parts hold their media, in all spellings, and reach the template without them', () => {
  const parts = [
    { type: 'image', image: 'a.png' },
    text('and'),
    { type: 'image_url', image_url: { url: 'data:image/png;base64,AA' } },
    { type: 'video', frames: ['0.png', '1.png'], fps: 2 },
    { type: 'image' },
  ]
  const found = placeMedia([user(parts)], { images: ['from the column'] })
  expect(found.prompt).toEqual([user([image, text('and'), image, video, image])])
  expect(found.images).toEqual([parts[0], parts[2], 'from the column'])
  expect(found.videos).toEqual([parts[3]])
})

test('text alone stays as it is', () => {
  expect(placeMedia('a <image> tag').prompt).toBe('a <image> tag')
  const messages = [user('a <image> tag'), { role: 'assistant', content: null }]
  expect(placeMedia(messages).prompt).toEqual(messages)
})

test('places and items have to be as many', () => {
  expect(() => placeMedia('one <image>', { images: ['a', 'b'] })).toThrow(
    'images: the messages have places for 1, and there are 2',
  )
  expect(() => placeMedia('<image><image>', { images: ['a'] })).toThrow('places for 2, and there are 1')
  expect(() => placeMedia([user([image])])).toThrow('images: the messages have places for 1, and there are 0')
  expect(() => placeMedia([{ role: 'system', content: 'x' }], { images: ['a'] })).toThrow('no message of the user')
})
