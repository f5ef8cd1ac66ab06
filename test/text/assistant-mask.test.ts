import fc from 'fast-check'
import { beforeAll, describe, expect, test } from 'vitest'
import { maskFromSpans } from '../../src/text/assistant-mask.js'
import { type ChatMessage, ChatTemplate, Tokenizer } from '../../src/text/index.js'
import { oracle, tokenizerDirectory, tokenizerPath } from '../support/tokenizers.js'

const chat = (...turns: [string, string][]): ChatMessage[] => turns.map(([role, content]) => ({ role, content }))
const withTemplate = async (template: string) =>
  Tokenizer.load(
    await tokenizerDirectory({ 'chat_template.jinja': template, 'tokenizer_config.json': { eos_token: '<|im_end|>' } }),
  )

/** The same ChatML as the oracle's, without saying what the assistant wrote. */
const PLAIN = `{% for m in messages %}{{ '<|im_start|>' + m.role + '\\n' + m.content + '<|im_end|>' + '\\n' }}{% endfor %}{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}`

describe('with generation tags', () => {
  test.each(oracle.masks)('equal to transformers: $name', async row => {
    const tokenizer = await withTemplate(row.template)
    const { ids, assistantMask } = await tokenizer.encodeConversation(row.messages)
    expect(Array.from(ids)).toEqual(row.ids)
    expect(Array.from(assistantMask)).toEqual(row.assistantMask)
  })

  test('messages may contain anything, even what could be a mark', () => {
    const template = new ChatTemplate(
      `{% for m in messages %}{% generation %}{{ m.content }}{% endgeneration %};{% endfor %}`,
    )
    const content = '\uFDD00\uFDD1\uFDD01\uFDD1{% generation %}'
    const { text, spans } = template.renderMarked(chat(['assistant', content], ['assistant', 'b']))
    expect(text).toBe(`${content};b;`)
    expect(spans.map(({ start, end }) => text.slice(start, end))).toEqual([content, 'b'])
  })
})

describe('without generation tags', () => {
  let tokenizer: Tokenizer
  beforeAll(async () => {
    tokenizer = await withTemplate(PLAIN)
  })
  const tagged = oracle.masks.filter(row => row.name.startsWith('generation: '))

  test.each(tagged)('comparing renderings finds the same: $name', async row => {
    const { ids, assistantMask } = await tokenizer.encodeConversation(row.messages)
    expect(Array.from(ids)).toEqual(row.ids)
    expect(Array.from(assistantMask)).toEqual(row.assistantMask)
  })

  test('what is masked in decodes to content and end of turn, for any text', async () => {
    const content = fc.string({ unit: 'grapheme', maxLength: 12 }).map(text => text.normalize('NFC'))
    await fc.assert(
      fc.asyncProperty(content, content, content, async (ask, first, second) => {
        const messages = chat(['user', ask], ['assistant', `x${first}`], ['user', ask], ['assistant', `y${second}`])
        const { ids, assistantMask } = await tokenizer.encodeConversation(messages)
        const written = await tokenizer.decode(ids.filter((_, i) => assistantMask[i] === 1))
        expect(written).toBe(`x${first}<|im_end|>y${second}<|im_end|>`)
      }),
      { numRuns: 60 },
    )
  })

  test('the fixture, whose template writes a system prompt of its own', async () => {
    const fixture = await Tokenizer.load(tokenizerPath)
    const { ids, assistantMask } = await fixture.encodeConversation(chat(['user', 'Hi'], ['assistant', 'Hello']))
    expect(await fixture.decode(ids.filter((_, i) => assistantMask[i] === 1))).toBe('Hello<|im_end|>')
  })

  test('a turn that no special token ends goes to its end', async () => {
    const bare = await withTemplate(
      `{% for m in messages %}{{ m.role + ':' + m.content + '\\n' }}{% endfor %}{% if add_generation_prompt %}assistant:{% endif %}`,
    )
    const { ids, assistantMask } = await bare.encodeConversation(chat(['user', 'a'], ['assistant', 'b'], ['user', 'c']))
    expect(await bare.decode(ids.filter((_, i) => assistantMask[i] === 1))).toBe('b\n')
  })

  test('a token across the start of a turn is not the assistant\u2019s', async () => {
    const dotted = await withTemplate(
      `{% for m in messages %}{{ m.role + '.' + m.content + '<|im_end|>' }}{% endfor %}{% if add_generation_prompt %}assistant.{% endif %}`,
    )
    // ".\n" is one token: half of it is the header's, so the model could not have written it.
    expect(dotted.idOf('.Ċ')).toBeDefined()
    const { ids, assistantMask } = await dotted.encodeConversation(chat(['user', 'a'], ['assistant', '\nb']))
    expect(await dotted.decode(ids.filter((_, i) => assistantMask[i] === 1))).toBe('b<|im_end|>')
  })

  test.each([
    [
      'drops what it showed before',
      `{% for m in messages %}{% if not loop.last or m.role == 'user' %}{{ m.role }}:{{ m.content[:1] }};{% else %}{{ m.role }}:{{ m.content }};{% endif %}{% endfor %}{% if add_generation_prompt %}assistant:{% endif %}`,
      'messages[1]: cannot find the tokens of the assistant',
      'differently once others follow',
    ],
    [
      'prompts for something else than it writes',
      `{% for m in messages %}{{ m.role }}:{{ m.content }};{% endfor %}{% if add_generation_prompt %}assistant:<think>{% endif %}`,
      'messages[1]',
      'the generation prompt is not how it begins',
    ],
    [
      'cannot render a beginning',
      `{% if messages[-1].role == 'user' and messages | length < 3 %}{{ raise_exception('too short') }}{% endif %}x`,
      'messages[1]',
      'too short',
    ],
  ])('a template that %s is refused', async (_, template, where, why) => {
    const failing = await withTemplate(template)
    const messages = chat(['user', 'one'], ['assistant', 'two'], ['user', 'three'])
    const error = await failing.encodeConversation(messages).catch((reason: Error) => reason)
    expect(error).toBeInstanceOf(Error)
    for (const part of [where, why, '{% generation %}']) expect((error as Error).message).toContain(part)
  })
})

describe('maskFromSpans', () => {
  test('spans are UTF-16 units, offsets code points', () => {
    const text = '😀a😀'
    const offsets = [
      [0, 1],
      [0, 1],
      [1, 2],
      [2, 3],
      [2, 3],
    ]
    expect(Array.from(maskFromSpans(text, offsets, [{ start: 3, end: 5 }]))).toEqual([0, 0, 0, 1, 1])
    expect(Array.from(maskFromSpans(text, offsets, [{ start: 0, end: 2 }]))).toEqual([1, 1, 0, 0, 0])
  })

  test('a space whose offsets were trimmed belongs where it stood', () => {
    // "a", " " reported as [2, 2], "5": the span is "5" alone, then "a " alone.
    const offsets = [
      [0, 1],
      [2, 2],
      [2, 3],
    ]
    expect(Array.from(maskFromSpans('a 5', offsets, [{ start: 2, end: 3 }]))).toEqual([0, 0, 1])
    expect(Array.from(maskFromSpans('a 5', offsets, [{ start: 0, end: 2 }]))).toEqual([1, 1, 0])
  })

  test('no spans, empty spans, neighbouring spans', () => {
    const offsets = [
      [0, 1],
      [1, 2],
    ]
    expect(Array.from(maskFromSpans('ab', offsets, []))).toEqual([0, 0])
    expect(Array.from(maskFromSpans('ab', offsets, [{ start: 1, end: 1 }]))).toEqual([0, 0])
    const both = [
      { start: 0, end: 1 },
      { start: 1, end: 2 },
    ]
    expect(Array.from(maskFromSpans('ab', offsets, both))).toEqual([1, 1])
  })
})
