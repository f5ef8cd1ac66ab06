/** The Modelfile for Ollama: its template gives what the Jinja template gives. */
import { expect, test } from 'vitest'
import { modelfile } from '../../src/gguf/index.js'
import type { ChatMessage } from '../../src/text/index.js'
import { renderGo } from '../support/go-template.js'
import { conversations, ollamaCall, said, templates, turns, vocabularyWith } from '../support/ollama.js'

function ollamaRender(text: string, messages: readonly ChatMessage[]): string {
  const { template, data } = ollamaCall(text, messages)
  return renderGo(template, data)
}

test.each(Object.keys(templates) as (keyof typeof templates)[])(
  '%s: the template of Ollama gives the same texts',
  async name => {
    for (const { text, messages, wanted } of await conversations(name))
      expect(ollamaRender(text, messages)).toBe(wanted)
  },
)

test('an answer that is to be continued has no end', async () => {
  const vocabulary = await vocabularyWith(templates.chatml)
  const text = modelfile({ file: 'm.gguf', vocabulary, addsBos: false, generation: {} })
  expect(ollamaRender(text, turns.slice(0, 2))).toMatch(/<\|im_start\|>assistant\nIt is 4\.$/)
})

test('stop texts, the default system message and settings', async () => {
  const vocabulary = await vocabularyWith(templates['chatml with a default system message'])
  const generation = { temperature: 0.6, top_p: 0.9, top_k: 40, repetition_penalty: 1.1, do_sample: true }
  const text = modelfile({ file: 'mine-q8_0.gguf', vocabulary, addsBos: false, generation })
  expect(text.startsWith('FROM ./mine-q8_0.gguf\n')).toBe(true)
  expect(said('SYSTEM', text)).toBe('You are a helpful assistant.')
  expect(text.split('\n').filter(line => line.startsWith('PARAMETER'))).toEqual([
    'PARAMETER stop "<|im_end|>"',
    'PARAMETER temperature 0.6',
    'PARAMETER top_p 0.9',
    'PARAMETER top_k 40',
    'PARAMETER repeat_penalty 1.1',
  ])
  const greedy = modelfile({ file: 'm.gguf', vocabulary, addsBos: false, generation: { do_sample: false } })
  expect(greedy).toContain('PARAMETER temperature 0\n')
})

test('a template that does more than join messages is left to the GGUF file, with a comment', async () => {
  for (const template of [
    `{{ strftime_now('%d') }}${templates.chatml}`,
    `{% for message in messages %}{{ loop.index }}: {{ message['content'] }}\n{% endfor %}`,
  ]) {
    const text = modelfile({
      file: 'm.gguf',
      vocabulary: await vocabularyWith(template),
      addsBos: false,
      generation: {},
    })
    expect(said('TEMPLATE', text)).toBeUndefined()
    expect(text).toContain("# The chat template cannot be written in Ollama's template language.")
  }
})
