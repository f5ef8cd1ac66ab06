import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { promptMessages } from '../../src/dashboard/samples/messages.js'
import { Tokenizer } from '../../src/text/index.js'
import { written } from '../support/files.js'

const fixture = (name: string): string => fileURLToPath(new URL(`../fixtures/${name}`, import.meta.url))
const directory = fixture('tokenizer')

/** A format that no list of formats has. */
const own = written(
  'template.jinja',
  '{% for message in messages %}[{{ message.role }}] {{ message.content }} [/]{% endfor %}{% if add_generation_prompt %}[assistant]{% endif %}',
)

test('messages are found again in the ids that a chat template made of them', async () => {
  const question = { role: 'user', content: 'How are\n\nyou?' }
  const several = [
    { role: 'system', content: 'Be short.' },
    question,
    { role: 'assistant', content: 'Well.' },
    { role: 'user', content: ' And now? ' },
  ]
  const known = ['qwen2_5', 'qwen3', 'smollm2'].map(name => fixture(`chat-templates/${name}.jinja`))
  for (const chatTemplate of ['chatml', own, ...known]) {
    const tokenizer = await Tokenizer.load(directory, { chatTemplate })
    const found = async (messages: typeof several) =>
      promptMessages(tokenizer, await tokenizer.encodeChat(messages, { addGenerationPrompt: true }))
    expect(await found([question]), chatTemplate).toEqual([question])
    // Of a format that is not known, a single question.
    if (chatTemplate !== own) expect(await found(several), chatTemplate).toEqual(several)
  }
})

test('a prompt of which no messages make exactly these ids has none', async () => {
  const tokenizer = await Tokenizer.load(directory, { chatTemplate: 'chatml' })
  for (const text of [
    '1 + 1 = ',
    '<|im_start|>user\nhello',
    '<|im_start|>nobody\nhello<|im_end|>\n<|im_start|>assistant\n',
  ])
    expect(await promptMessages(tokenizer, await tokenizer.encode(text)), text).toBeUndefined()
})
