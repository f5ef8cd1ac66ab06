import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { ChatTemplateError, Tokenizer } from '../../src/text/index.js'
import { temporaryDirectory } from '../support/files.js'
import { llamaStyle, templateFile, tokenizerDirectory, tokenizerPath } from '../support/tokenizers.js'

const conversation = [
  { role: 'user', content: 'Hi' },
  { role: 'assistant', content: 'Hello' },
]
const chatmlText = '<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\nHello<|im_end|>\n'

describe('chatml', () => {
  test('in place of no template, and of another one', async () => {
    for (const dir of [await tokenizerDirectory({}), tokenizerPath]) {
      const tokenizer = await Tokenizer.load(dir, { chatTemplate: 'chatml' })
      expect(tokenizer.renderChat(conversation)).toBe(chatmlText)
      const { ids, assistantMask } = await tokenizer.encodeConversation(conversation)
      const trained = ids.filter((_, i) => assistantMask[i] === 1)
      expect(await tokenizer.decode(trained)).toBe('Hello<|im_end|>')
    }
  })

  test('the end of a turn ends a response, beside what the model knows itself', async () => {
    const dir = await tokenizerDirectory({ 'tokenizer_config.json': { eos_token: '<|endoftext|>' } })
    const [own, given] = [await Tokenizer.load(dir), await Tokenizer.load(dir, { chatTemplate: 'chatml' })]
    const [end, text] = ['<|im_end|>', '<|endoftext|>'].map(token => own.idOf(token)!)
    expect([own.stopIds, own.turnEndIds]).toEqual([[text], []])
    expect([given.stopIds, given.turnEndIds]).toEqual([[text, end], [end]])
    // Known already: nothing that a server would have to be told.
    expect((await Tokenizer.load(tokenizerPath, { chatTemplate: 'chatml' })).turnEndIds).toEqual([])
  })

  test('turns end with the eos token where there is no token of ChatML, and begin with a bos that is always there', async () => {
    const { dir } = await llamaStyle({ withoutChatTokens: true })
    const tokenizer = await Tokenizer.load(dir, { chatTemplate: 'chatml' })
    expect(tokenizer.renderChat(conversation)).toBe(`<|endoftext|>${chatmlText.replaceAll('<|im_end|>', '<|eos|>')}`)
    expect(tokenizer.stopIds).toEqual([tokenizer.idOf('<|eos|>')])
  })

  test('without a token to end a turn with it is refused', async () => {
    const { dir } = await llamaStyle({ withoutChatTokens: true, eos: 'none' })
    await expect(Tokenizer.load(dir, { chatTemplate: 'chatml' })).rejects.toThrow(
      /chatTemplate: .* has neither <\|im_end\|> nor an eos_token/,
    )
  })
})

describe('a file', () => {
  test('takes the place of the own template', async () => {
    const file = await templateFile('{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}')
    const tokenizer = await Tokenizer.load(tokenizerPath, { chatTemplate: file })
    expect(tokenizer.renderChat(conversation)).toBe('<user>Hi<assistant>Hello')
  })

  test('that wants other messages is no error of its own', async () => {
    const file = await templateFile("{{ raise_exception('no') }}")
    const tokenizer = await Tokenizer.load(tokenizerPath, { chatTemplate: file })
    expect(() => tokenizer.renderChat(conversation)).toThrow(ChatTemplateError)
  })

  test.each<[string, string | undefined, RegExp]>([
    [
      'there is none',
      undefined,
      /^chatTemplate: .*template\.jinja: there is no such file; expected auto, none, chatml/,
    ],
    ['it does not parse', '{% for %}', /^chatTemplate: .*template\.jinja: the chat template does not parse: /],
    ['its tags do not match', '{% generation %}', /^chatTemplate: .*: 1 \{% generation %\} tag\(s\) but 0/],
  ])('%s', async (_, source, message) => {
    const file = source === undefined ? join(temporaryDirectory(), 'template.jinja') : await templateFile(source)
    await expect(Tokenizer.load(tokenizerPath, { chatTemplate: file })).rejects.toThrow(message)
  })
})

test('the own template has to parse where it is asked for, and not where it is not', async () => {
  const dir = await tokenizerDirectory({ 'chat_template.jinja': '{% if %}' })
  await expect(Tokenizer.load(dir, { chatTemplate: 'auto' })).rejects.toThrow(
    /chat_template\.jinja: the chat template does not parse/,
  )
  expect((await Tokenizer.load(dir, { chatTemplate: 'none' })).hasChatTemplate).toBe(true)
})
