/** Tool calls in the formats of the families: right ones, wrong ones, and text that only looks like one. */
import { describe, expect, test } from 'vitest'
import { parseTurn } from '../../src/text/index.js'

const ok = (name: string, given: unknown) => ({ name, status: 'ok', arguments: given })

describe('hermes', () => {
  const parse = (text: string) => parseTurn(text, 'hermes')

  test('text and several calls', () => {
    const text =
      'Let me see.\n<tool_call>\n{"name": "add", "arguments": {"a": 1}}\n</tool_call>\n<tool_call>{"name": "sub", "arguments": {}}</tool_call>'
    expect(parse(text)).toMatchObject({ text: 'Let me see.', calls: [ok('add', { a: 1 }), ok('sub', {})] })
  })

  test('a string may hold the closing tag, quotes and braces (trap 4)', () => {
    const given = { text: '</tool_call> "}{" \\' }
    const text = `<tool_call>${JSON.stringify({ name: 'say', arguments: given })}</tool_call> done`
    expect(parse(text)).toMatchObject({ text: 'done', calls: [ok('say', given)] })
  })

  test('what the reasoning quotes is no call (trap 4)', () => {
    const text = '<think>I could <tool_call>{"name": "a", "arguments": {}}</tool_call></think>No.'
    expect(parse(text)).toEqual({
      reasoning: 'I could <tool_call>{"name": "a", "arguments": {}}</tool_call>',
      text: 'No.',
      calls: [],
    })
    expect(parse('<think>still <tool_call>{"name": "a", "arguments": {}}</tool_call>')).toMatchObject({
      text: '',
      calls: [],
    })
    // A template may have opened the reasoning in the prompt.
    expect(parse('Hm.</think>Yes.')).toEqual({ reasoning: 'Hm.', text: 'Yes.', calls: [] })
  })

  test.each([
    ['<tool_call>{"name": "add", "arguments": {"a": 1}', 'malformed', 'is not closed'],
    ['<tool_call>{"name": "add", "arguments": {}}', 'malformed', 'is not closed'],
    ['<tool_call>add(1)</tool_call>', 'malformed', 'expected a JSON object'],
    ['<tool_call>{"name": "add", "arguments": {a: 1}}</tool_call>', 'invalid-json', 'not JSON'],
    ['<tool_call>{"arguments": {}}</tool_call>', 'malformed', 'no "name"'],
    ['<tool_call>{"name": "add"}</tool_call>', 'malformed', 'no "arguments"'],
    [
      '<tool_call>{"name": "a", "arguments": {}}{"name": "b", "arguments": {}}</tool_call>',
      'malformed',
      'expected </tool_call>',
    ],
    ['<tool_call>{"name": "a", "arguments": {}} and more</tool_call>', 'malformed', 'expected </tool_call>'],
  ])('%s is %s', (text, status, message) => {
    expect(parse(text).calls).toEqual([expect.objectContaining({ status, message: expect.stringContaining(message) })])
  })
})

describe('llama3', () => {
  const parse = (text: string) => parseTurn(text, 'llama3')

  test('one call, several, and with the tag', () => {
    expect(parse('{"name": "add", "parameters": {"a": 1}}')).toMatchObject({ text: '', calls: [ok('add', { a: 1 })] })
    expect(parse('<|python_tag|>{"name": "a", "parameters": {}}; {"name": "b", "arguments": {}}').calls).toMatchObject([
      ok('a', {}),
      ok('b', {}),
    ])
  })

  test('JSON that is no call is an answer, unless the tag says that it is one', () => {
    expect(parse('{"answer": 5}')).toMatchObject({ text: '{"answer": 5}', calls: [] })
    expect(parse('<|python_tag|>{"answer": 5}').calls).toMatchObject([{ status: 'malformed' }])
    expect(parse('<|python_tag|>print(1)').calls).toMatchObject([{ status: 'malformed' }])
    expect(parse('{"name": "a", "parameters": {}} and so on').calls).toMatchObject([
      ok('a', {}),
      { status: 'malformed' },
    ])
  })
})

describe('mistral', () => {
  const parse = (text: string) => parseTurn(text, 'mistral')

  test('both forms', () => {
    expect(
      parse('Well. [TOOL_CALLS] [{"name": "a", "arguments": {"x": "]"}}, {"name": "b", "arguments": {}}]'),
    ).toMatchObject({
      text: 'Well.',
      calls: [ok('a', { x: ']' }), ok('b', {})],
    })
    expect(parse('[TOOL_CALLS]a[ARGS]{"x": 1}[TOOL_CALLS]b[ARGS]{}').calls).toMatchObject([
      ok('a', { x: 1 }),
      ok('b', {}),
    ])
  })

  test.each(['[TOOL_CALLS] [{"name": "a"', '[TOOL_CALLS] nothing', '[TOOL_CALLS]a[ARGS]{} more', '[TOOL_CALLS] [{]'])(
    '%s is no call',
    text => {
      expect(parse(text).calls).toMatchObject([{ status: expect.stringMatching(/malformed|invalid-json/) }])
    },
  )
})

test('without a format there are no calls', () => {
  expect(parseTurn('<tool_call>{"name": "a", "arguments": {}}</tool_call>', undefined).calls).toEqual([])
})
