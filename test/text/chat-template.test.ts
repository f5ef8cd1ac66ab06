import { beforeAll, describe, expect, test } from 'vitest'
import { CHATML_TEMPLATE } from '../../src/text/chatml.js'
import { type ChatMessage, ChatTemplate, ChatTemplateError, Tokenizer } from '../../src/text/index.js'
import { strftime } from '../../src/text/strftime.js'
import { golden, oracle, tokenizerDirectory, tokenizerPath } from '../support/tokenizers.js'

const user = (content: string): ChatMessage => ({ role: 'user', content })

/** The options of transformers by our names. */
function camelCase({ add_generation_prompt, continue_final_message, tools, ...variables }: Record<string, unknown>) {
  return {
    ...(add_generation_prompt === true && { addGenerationPrompt: true }),
    ...(continue_final_message === true && { continueFinalMessage: true }),
    ...(tools !== undefined && { tools: tools as object[] }),
    variables,
  }
}

describe('rendered as transformers renders', () => {
  let tokenizer: Tokenizer
  beforeAll(async () => {
    tokenizer = await Tokenizer.load(tokenizerPath)
  })

  test.each(golden.chat.map((row, i) => ({ ...row, i })))('chat $i', async row => {
    const options = { addGenerationPrompt: row.add_generation_prompt }
    expect(tokenizer.renderChat(row.messages, options)).toBe(row.text)
    expect(await tokenizer.encodeChat(row.messages, options)).toEqual(
      await tokenizer.encode(row.text, { addSpecialTokens: false }),
    )
  })

  const specialTokens = new Map([
    ['bos_token', '<|im_start|>'],
    ['eos_token', '<|im_end|>'],
  ])
  test.each(oracle.renders)('$name', row => {
    expect(new ChatTemplate(row.template, specialTokens).render(row.messages, camelCase(row.options))).toBe(row.text)
  })

  test.each(oracle.masks)('without its marks: $name', row => {
    expect(new ChatTemplate(row.template).render(row.messages)).toBe(row.text)
  })
})

describe('which template', () => {
  const messages = [user('Hi')]
  const render = async (files: Record<string, object | string>, options = {}) =>
    (await Tokenizer.load(await tokenizerDirectory(files))).renderChat(messages, options)

  test('the file wins over the config', async () => {
    const config = { chat_template: 'config' }
    expect(await render({ 'tokenizer_config.json': config })).toBe('config')
    expect(await render({ 'chat_template.json': { chat_template: 'json' }, 'tokenizer_config.json': config })).toBe(
      'json',
    )
    expect(await render({ 'chat_template.jinja': 'file', 'tokenizer_config.json': config })).toBe('file')
  })

  test('named templates: default, the one for tools, any by name', async () => {
    const config = {
      chat_template: [
        { name: 'default', template: 'plain' },
        { name: 'tool_use', template: 'tools' },
      ],
    }
    const files = { 'tokenizer_config.json': config }
    expect(await render(files)).toBe('plain')
    expect(await render(files, { tools: [{}] })).toBe('tools')
    expect(await render(files, { template: 'tool_use' })).toBe('tools')
    await expect(render(files, { template: 'rag' })).rejects.toThrow(
      'no chat template named "rag"; there are: default, tool_use',
    )
    const extra = { 'chat_template.jinja': 'file', 'additional_chat_templates/rag.jinja': 'rag file' }
    expect(await render(extra, { template: 'rag' })).toBe('rag file')
  })

  test('none', async () => {
    await expect(render({})).rejects.toThrow('no chat template: expected chat_template.jinja')
  })
})

describe('errors name the message', () => {
  const chatml = new ChatTemplate(`{% for m in messages %}{{ m.role + ': ' + m.content }}{% endfor %}`)
  const failure = (run: () => unknown): ChatTemplateError => {
    try {
      run()
    } catch (error) {
      if (error instanceof ChatTemplateError) return error
      throw error
    }
    throw new Error('did not fail')
  }

  test.each<[unknown[], number | undefined, string]>([
    [[], undefined, 'messages: expected a list with at least one message'],
    [[user('a'), 'b'], 1, 'messages[1]: expected an object with a role and a content, got a string'],
    [[user('a'), { content: 'b' }], 1, 'messages[1].role: expected a non-empty string, got undefined'],
    [[{ role: '', content: 'b' }], 0, 'messages[0].role: expected a non-empty string, got an empty string'],
    [[{ role: 'user', content: 3 }], 0, 'messages[0].content: expected a string or a list of parts, got a number'],
    [[{ role: 'user', content: ['x'] }], 0, 'messages[0].content[0]: expected an object with a string "type"'],
    [[user('a'), { role: 'assistant' }, user('c')], 1, 'messages[1] (role "assistant"): content: undefined, which'],
    [[user('a'), { role: 'assistant', content: null }], 1, 'messages[1] (role "assistant"): content: null, which'],
  ])('%j', (messages, index, message) => {
    const error = failure(() => chatml.render(messages as ChatMessage[]))
    expect(error.message).toContain(message)
    expect(error.messageIndex).toBe(index)
  })

  test('raise_exception in the template', () => {
    const mistral = new ChatTemplate(oracle.renders.find(row => row.name === 'mistral')!.template)
    const error = failure(() => mistral.render([user('a'), user('b'), user('c')]))
    expect(error.messageIndex).toBe(1)
    expect(error.message).toContain('roles must alternate')
  })

  test('templates that are wrong themselves', () => {
    expect(() => new ChatTemplate('{% for m in messages %}')).toThrow('does not parse')
    expect(() => new ChatTemplate('{% generation %}x')).toThrow('1 {% generation %} tag(s) but 0')
  })

  test('continuing what cannot be continued', () => {
    const open = { continueFinalMessage: true }
    expect(() => chatml.render([user('a')], { ...open, addGenerationPrompt: true })).toThrow('exclude each other')
    expect(() => chatml.render([{ role: 'user' }], open)).toThrow('needs text to continue')
    expect(() => new ChatTemplate('nothing').render([user('a')], open)).toThrow('does not render this message')
  })
})

test('continuing the last text of a message in parts', () => {
  const template = new ChatTemplate(
    `{% for m in messages %}{% for p in m.content %}[{{ p.text if p.type == 'text' else p.type }}]{% endfor %}{% endfor %}`,
  )
  const content = [{ type: 'image' }, { type: 'text', text: 'It is' }]
  const options = { continueFinalMessage: true, mediaTypes: ['image'] }
  expect(template.render([{ role: 'assistant', content }], options)).toBe('[image][It is')
})

describe('content in parts', () => {
  const parts = [
    { type: 'text', text: 'Hello' },
    { type: 'input_text', text: 'there' },
  ]
  const chatml = new ChatTemplate(CHATML_TEMPLATE)
  const inParts = [{ role: 'user', content: parts }]
  const goesThroughParts = new ChatTemplate(
    `{% for m in messages %}{% if m.content is string %}{{ m.content }}{% else %}{% for p in m.content %}<{{ p.text }}>{% endfor %}{% endif %}{% endfor %}`,
  )

  test('text is joined as text where the template does not go through parts itself', () => {
    expect(chatml.render(inParts)).toBe(chatml.render([user('Hello\nthere')]))
    expect(chatml.render([{ role: 'user', content: [parts[0]!] }])).toBe(chatml.render([user('Hello')]))
    const { text } = chatml.renderMarked([...inParts, { role: 'assistant', content: [parts[0]!] }])
    expect(text).not.toContain('type')
    expect(goesThroughParts.render(inParts)).toBe('<Hello><there>')
  })

  test('the last text can be continued', () => {
    const open = { continueFinalMessage: true }
    const said = [user('a'), { role: 'assistant', content: [{ type: 'text', text: 'It is' }] }]
    expect(chatml.render(said, open)).toBe(chatml.render([user('a'), { role: 'assistant', content: 'It is' }], open))
  })

  test('a part that cannot be taken is named, whatever the template', () => {
    const content = [parts[0]!, { type: 'input_audio', input_audio: {} }]
    for (const template of [chatml, goesThroughParts])
      expect(() => template.render([user('a'), { role: 'user', content }])).toThrow(
        'messages[1].content[1]: a part of type "input_audio": this model takes only text',
      )
    const image = [{ role: 'user', content: [{ type: 'image' }] }]
    expect(() => chatml.render(image, { mediaTypes: ['image'] })).toThrow('this chat template takes only text')
    expect(() => chatml.render([{ role: 'user', content: [{ type: 'text' }] }])).toThrow('expected a string "text"')
  })
})

test('a long conversation that cannot be rendered fails at once', () => {
  const template = new ChatTemplate(
    `{% for m in messages %}{{ m.content + '' }}{% endfor %}{{ raise_exception('no') }}`,
  )
  const messages = Array.from({ length: 20_000 }, () => user('x'))
  expect(() =>
    new ChatTemplate(
      `{% for m in messages %}{% if loop.index > 19999 %}{{ raise_exception('no') }}{% endif %}{% endfor %}`,
    ).render(messages),
  ).toThrow('the chat template cannot render this: no')
  expect(() => template.render(messages.slice(0, 3))).toThrow('messages[0]')
})

test('the clock is given, the language is English', () => {
  const now = () => new Date(2026, 1, 3, 15, 4, 5)
  const template = new ChatTemplate(`{{ strftime_now('%d %b %Y, %A %-d %B %I:%M %p') }}{% if not tools %}.{% endif %}`)
  expect(template.render([user('')], { now })).toBe('03 Feb 2026, Tuesday 3 February 03:04 PM.')
  expect(strftime(new Date(2024, 11, 31, 0, 0, 9), '%j %y %m %e %H %S %a %%')).toBe('366 24 12 31 00 09 Tue %')
  expect(() => strftime(now(), '%Q')).toThrow('unknown directive %Q')
})
