/** What Ollama makes of a Modelfile: its template, and the data that the template is given. */
import { cp, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { modelfile } from '../../src/gguf/index.js'
import { type ChatMessage, readVocabulary, type Vocabulary } from '../../src/text/index.js'
import { fixture, temporary } from './models.js'

/** Chat templates of real models, as short as they can be written. */
export const templates = {
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

export async function vocabularyWith(template: string): Promise<Vocabulary> {
  const directory = temporary(`vocabulary-${Math.abs(hash(template))}`)
  await cp(fixture('eos-pad'), directory, { recursive: true })
  await writeFile(join(directory, 'chat_template.jinja'), template)
  return readVocabulary(directory)
}

const hash = (text: string): number => [...text].reduce((sum, one) => (Math.imul(sum, 31) + one.charCodeAt(0)) | 0, 7)

export const said = (name: string, text: string): string | undefined =>
  new RegExp(`^${name} """(.*?)"""$`, 'ms').exec(text)?.[1]

/** As Ollama gives messages to a template: the system message of the Modelfile first, where a conversation has none. */
export function ollamaCall(text: string, messages: readonly ChatMessage[]) {
  const own = said('SYSTEM', text)
  const all =
    own === undefined || messages[0]!.role === 'system' ? messages : [{ role: 'system', content: own }, ...messages]
  const system = all.filter(({ role }) => role === 'system').map(({ content }) => String(content))
  const list = all.map(({ role, content }) => ({ Role: role, Content: String(content) }))
  return { template: said('TEMPLATE', text)!, data: { System: system.join('\n\n'), Messages: list } }
}

export const turns: ChatMessage[] = ['What is 2 + 2?', 'It is 4.', 'And\n\n"3 + 3"?', '6', 'Thanks {{ you }}'].map(
  (content, i) => ({ role: i % 2 === 0 ? 'user' : 'assistant', content }),
)
export const system: ChatMessage = { role: 'system', content: 'Be brief.\nBe kind.' }

/** Every kind of conversation with every template, with the text that the Jinja template gives. */
export async function conversations(name: keyof typeof templates) {
  const vocabulary = await vocabularyWith(templates[name])
  const { tokenizer } = vocabulary
  const bos = tokenizer.specialTokens.get('bos_token')!
  const plain = [turns.slice(0, 1), turns.slice(0, 3), turns]
  const all = name.includes('without system') ? plain : plain.flatMap(turns => [turns, [system, ...turns]])
  return [false, true].flatMap(addsBos => {
    const text = modelfile({ file: 'm.gguf', vocabulary, addsBos, generation: {} })
    return all.map(messages => {
      const wanted = tokenizer.renderChat(messages, { addGenerationPrompt: true })
      // llama.cpp puts the bos in front itself then.
      return { text, messages, wanted: addsBos && wanted.startsWith(bos) ? wanted.slice(bos.length) : wanted }
    })
  })
}
