import { readFileSync } from 'node:fs'
import { copyFile, mkdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type ChatMessage, Tokenizer } from '../../src/text/index.js'
import { temporaryDirectory } from './files.js'

/** A tokenizer of 2,000 tokens with a chat template. */
export const tokenizerPath = fileURLToPath(new URL('../fixtures/tokenizer', import.meta.url))
export const tokenizer = await Tokenizer.load(tokenizerPath)

interface Golden {
  encode: { text: string; ids: number[]; decoded: string; decoded_skip_special: string }[]
  chat: { messages: ChatMessage[]; add_generation_prompt: boolean; text: string }[]
}

interface Oracle {
  masks: {
    name: string
    template: string
    messages: ChatMessage[]
    text: string
    ids: number[]
    assistantMask: number[]
  }[]
  renders: {
    name: string
    template: string
    messages: ChatMessage[]
    options: Record<string, unknown>
    text: string
  }[]
  discovery: {
    name: string
    config: object
    specialTokensMap: object | null
    bos: number | null
    eos: number | null
    pad: number | null
    vocabSize: number
    allSpecialIds: number[]
    named: Record<string, string>
    probe: string
    ids: number[]
    decodedSkipSpecial: string
  }[]
  cleanUp: {
    tokenizer: object | null
    config: object
    text: string
    ids: number[]
    bareIds: number[]
    decoded: string
    decodedSkipSpecial: string
    pad: number | null
  }[]
}

const read = (name: string): unknown => JSON.parse(readFileSync(join(tokenizerPath, name), 'utf8'))
export const golden = read('case.json') as Golden
/** What transformers 5.17 answers; written by make_oracle.py. */
export const oracle = read('oracle.json') as Oracle

/** A directory with the fixture's `tokenizer.json` and these other files; objects are written as JSON. */
export async function tokenizerDirectory(files: Record<string, object | string>): Promise<string> {
  const dir = temporaryDirectory()
  await copyFile(join(tokenizerPath, 'tokenizer.json'), join(dir, 'tokenizer.json'))
  for (const [name, content] of Object.entries(files)) {
    await mkdir(dirname(join(dir, name)), { recursive: true })
    await writeFile(join(dir, name), typeof content === 'string' ? content : JSON.stringify(content))
  }
  return dir
}

/** A file of Jinja. */
export async function templateFile(source: string): Promise<string> {
  const file = join(temporaryDirectory(), 'template.jinja')
  await writeFile(file, source)
  return file
}

/**
 * The same tokenizer as Llama's are made: it adds a bos itself, and so does its chat template. `withoutChatTokens`: as that of a base
 * model, which has neither a template nor the tokens of ChatML.
 */
export async function llamaStyle({
  withoutChatTokens = false,
  eos = 'named',
}: {
  withoutChatTokens?: boolean
  eos?: 'named' | 'none'
} = {}): Promise<Tokenizer> {
  const bos = '<|endoftext|>'
  let text = readFileSync(join(tokenizerPath, 'tokenizer.json'), 'utf8')
  if (withoutChatTokens) text = text.replaceAll('<|im_start|>', '<|start|>').replaceAll('<|im_end|>', '<|eos|>')
  const file = JSON.parse(text) as Record<string, unknown>
  const special = { SpecialToken: { id: bos, type_id: 0 } }
  const first = { Sequence: { id: 'A', type_id: 0 } }
  file.post_processor = {
    type: 'TemplateProcessing',
    single: [special, first],
    pair: [special, first, { Sequence: { id: 'B', type_id: 1 } }],
    special_tokens: { [bos]: { id: bos, ids: [tokenizer.idOf(bos)], tokens: [bos] } },
  }
  const template =
    '{{ bos_token }}{% for message in messages %}[{{ message.role }}] {{ message.content }}{% endfor %}{% if add_generation_prompt %}[assistant]{% endif %}'
  const config = {
    bos_token: bos,
    ...(eos === 'none' ? {} : { eos_token: withoutChatTokens ? '<|eos|>' : '<|im_end|>' }),
    ...(withoutChatTokens ? {} : { chat_template: template }),
  }
  return Tokenizer.load(await tokenizerDirectory({ 'tokenizer.json': file, 'tokenizer_config.json': config }))
}
