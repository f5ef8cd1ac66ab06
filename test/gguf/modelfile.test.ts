/** The Modelfile for Ollama: its template gives what the Jinja template gives. */
import { cp, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { modelfile } from '../../src/gguf/index.js'
import { type ChatMessage, readVocabulary, type Vocabulary } from '../../src/text/index.js'
import { renderGo } from '../support/go-template.js'
import { fixture, temporary } from '../support/models.js'

/** Chat templates of real models, as short as they can be written. */
const templates = {
  chatml: await readFile(join(fixture('eos-pad'), 'chat_template.jinja'), 'utf8'),
  'chatml with a default system message': `{% if messages[0]['role'] != 'system' %}<|im_start|>system
You are a helpful assistant.<|im_end|>
{% endif %}{% for message in messages %}<|im_start|>{{ message['role'] }}
{{ message['content'] }}<|im_end|>
{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant
{% endif %}`,
  'llama 3': `{% for message in messages %}{% if loop.first %}{{ bos_token }}{% endif %}<|start_header_id|>{{ message['role'] }}<|end_header_id|>

{{ message['content'] | trim }}<|eot_id|>{% endfor %}{% if add_generation_prompt %}<|start_header_id|>assistant<|end_header_id|>

{% endif %}`,
  zephyr: `{% for message in messages %}<|{{ message['role'] }}|>
{{ message['content'] + eos_token }}
{% endfor %}{% if add_generation_prompt %}<|assistant|>
{% endif %}`,
  'mistral, without system messages': `{{ bos_token }}{% for message in messages %}{% if message['role'] == 'user' %}[INST] {{ message['content'] }} [/INST]{% elif message['role'] == 'assistant' %} {{ message['content'] }}{{ eos_token }}{% else %}{{ raise_exception('no') }}{% endif %}{% endfor %}`,
} as const

async function vocabularyWith(template: string): Promise<Vocabulary> {
  const directory = temporary(`vocabulary-${Math.abs(hash(template))}`)
  await cp(fixture('eos-pad'), directory, { recursive: true })
  await writeFile(join(directory, 'chat_template.jinja'), template)
  return readVocabulary(directory)
}

const hash = (text: string): number => [...text].reduce((sum, one) => (Math.imul(sum, 31) + one.charCodeAt(0)) | 0, 7)

const said = (name: string, text: string): string | undefined =>
  new RegExp(`^${name} """(.*?)"""$`, 'ms').exec(text)?.[1]

/** As Ollama gives messages to a template: the system message of the Modelfile first, where a conversation has none. */
function ollamaRender(text: string, messages: readonly ChatMessage[]): string {
  const own = said('SYSTEM', text)
  const all =
    own === undefined || messages[0]!.role === 'system' ? messages : [{ role: 'system', content: own }, ...messages]
  const system = all.filter(({ role }) => role === 'system').map(({ content }) => String(content))
  const list = all.map(({ role, content }) => ({ Role: role, Content: String(content) }))
  return renderGo(said('TEMPLATE', text)!, { System: system.join('\n\n'), Messages: list })
}

const turns: ChatMessage[] = ['What is 2 + 2?', 'It is 4.', 'And\n\n"3 + 3"?', '6', 'Thanks {{ you }}'].map(
  (content, i) => ({ role: i % 2 === 0 ? 'user' : 'assistant', content }),
)
const system: ChatMessage = { role: 'system', content: 'Be brief.\nBe kind.' }

test.each(Object.entries(templates))('%s: the template of Ollama gives the same texts', async (name, template) => {
  const vocabulary = await vocabularyWith(template)
  const { tokenizer } = vocabulary
  for (const addsBos of [false, true]) {
    const text = modelfile({ file: 'm.gguf', vocabulary, addsBos, generation: {} })
    const bos = tokenizer.specialTokens.get('bos_token')!
    const conversations = [turns.slice(0, 1), turns.slice(0, 3), turns]
    for (const turns of conversations)
      for (const messages of name.includes('without system') ? [turns] : [turns, [system, ...turns]]) {
        const wanted = tokenizer.renderChat(messages, { addGenerationPrompt: true })
        // llama.cpp puts the bos in front itself then.
        const shown = addsBos && wanted.startsWith(bos) ? wanted.slice(bos.length) : wanted
        expect(ollamaRender(text, messages)).toBe(shown)
      }
  }
})

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
