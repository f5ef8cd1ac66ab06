// Loads damaged files, one after another, in a process of its own: what aborts is seen by the one that started it.
// Prints the number of a case before it runs, and a line for every error that is not one of ours.
import { cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

const [dist, fixtures, work, kind, from, to] = process.argv.slice(2)
const room = name => import(pathToFileURL(join(dist, name, 'index.js')).href)
const { WhetstoneError } = await room('errors')

/** The same numbers for the same seed: xorshift. */
function randomNumbers(seed) {
  let state = Math.imul(seed + 1, 2654435761) >>> 0 || 1
  const next = () => {
    state ^= state << 13
    state ^= state >>> 17
    state ^= state << 5
    return (state >>> 0) / 2 ** 32
  }
  for (let i = 0; i < 8; i++) next()
  return { next, below: n => Math.floor(next() * n), pick: list => list[Math.floor(next() * list.length)] }
}

const values = [
  null,
  true,
  false,
  -1,
  0,
  1,
  1.5,
  1e300,
  2 ** 31,
  2 ** 32,
  99999999999,
  '',
  'x',
  '\u0000',
  '\ud800',
  '▁',
  '日本',
]
const odd = [...values, [], {}, [[]], ['a'], { a: 1 }, { type: 'Sequence' }, 'é'.repeat(3000), Array(50).fill('a')]

/** Sets, removes or renames something at a random depth of a JSON value. */
function damageJson(value, { next, pick }) {
  let holder = value
  let key
  for (let at = value; typeof at === 'object' && at !== null; at = at[key]) {
    const keys = Object.keys(at)
    if (keys.length === 0) break
    holder = at
    key = pick(keys)
    if (next() < 0.3) break
  }
  if (key === undefined) return
  const chance = next()
  if (chance < 0.2) Array.isArray(holder) ? holder.splice(Number(key), 1) : delete holder[key]
  else if (chance < 0.4 && !Array.isArray(holder)) {
    holder[pick(['', 'x', `${key}x`, '\u0000', '__proto__x'])] = holder[key]
    delete holder[key]
  } else holder[key] = structuredClone(pick(odd))
}

/** Replaces a few bytes or characters of a file. */
function damageText(text, { below, pick }) {
  const at = below(text.length)
  const piece = pick([
    '"',
    '\\',
    '0',
    '9',
    '',
    'Z',
    ' ',
    '\\u0000',
    '\\ud800',
    '-',
    'e',
    '[',
    ']',
    '{',
    '}',
    ',',
    'é',
    '😀',
  ])
  return text.slice(0, at) + piece + text.slice(at + below(4))
}

function damaged(text, random) {
  if (random.next() < 0.25) return damageText(text, random)
  const value = JSON.parse(text)
  for (let i = random.below(3); i >= 0; i--) damageJson(value, random)
  return JSON.stringify(value)
}

const read = name => readFileSync(join(fixtures, name), 'utf8')
const write = (name, content) => writeFileSync(join(work, name), content)
const messages = [
  { role: 'system', content: 'Be brief.' },
  { role: 'user', content: 'Hi' },
  { role: 'assistant', content: 'Hello' },
]

async function useTokenizer() {
  const { Tokenizer } = await room('text')
  const tokenizer = await Tokenizer.load(work)
  const texts = ['', ' ', 'Hello world  <|im_end|> é\n 日本 foo', '  the </s> model aaaa']
  for (const ids of await tokenizer.encodeBatch(texts)) await tokenizer.decode(ids, { skipSpecialTokens: true })
  await tokenizer.decode(Array.from({ length: Math.min(tokenizer.vocabSize + 3, 4000) }, (_, id) => id))
  return tokenizer
}

async function useModel() {
  const { LocalModel } = await room('model')
  const model = await LocalModel.load(work)
  try {
    await model.score([Int32Array.of(1, 2, 3)])
  } finally {
    model.dispose()
  }
}

/** What is damaged, and how the file is used then. */
const kinds = {
  tokenizer: {
    prepare: () => {},
    async run(random) {
      // Mostly the small one: its parts are other ones, and it is read in a moment.
      const source = random.next() < 0.85 ? 'tokenizer-llama2' : 'tokenizer'
      write('tokenizer.json', damaged(read(`${source}/tokenizer.json`), random))
      await useTokenizer()
    },
  },
  'tokenizer-config': {
    prepare: () => write('tokenizer.json', read('tokenizer-llama2/tokenizer.json')),
    async run(random) {
      const names = ['tokenizer_config.json', 'special_tokens_map.json', 'generation_config.json']
      const config = {
        ...JSON.parse(read('tokenizer/tokenizer_config.json')),
        tokenizer_class: 'LlamaTokenizer',
        chat_template: read('tokenizer/chat_template.jinja'),
        added_tokens_decoder: { 2: { content: '</s>', special: true }, 400: { content: '<x>', lstrip: true } },
        extra_special_tokens: ['<y>', { content: '<z>' }],
        eos_token_id: [1, 2],
      }
      for (const name of names)
        write(name, name === random.pick(names) ? damaged(JSON.stringify(config), random) : '{}')
      const tokenizer = await useTokenizer()
      await tokenizer.encodeConversation(messages)
    },
  },
  template: {
    prepare: () => write('tokenizer.json', read('tokenizer-llama2/tokenizer.json')),
    async run(random) {
      let template = random.pick(JSON.parse(read('tokenizer/oracle.json')).renders).template
      const pieces = [
        '{%',
        '%}',
        '{{',
        '}}',
        '-',
        "'",
        '[0]',
        '.x',
        '|tojson',
        '|length',
        ' + ',
        ' * 9',
        ' if ',
        'range(999999999)',
        'messages',
        '(',
        ')',
        '',
      ]
      for (let i = random.below(3); i >= 0; i--) {
        const at = random.below(template.length)
        template = template.slice(0, at) + random.pick(pieces) + template.slice(at + random.below(6))
      }
      write('chat_template.jinja', template)
      const tokenizer = await useTokenizer()
      await tokenizer.encodeConversation(messages)
      await tokenizer.encodeChat(messages.slice(0, 2), { addGenerationPrompt: true, tools: [{ type: 'function' }] })
    },
  },
  config: {
    prepare: () => cpSync(join(fixtures, 'models/qwen2'), work, { recursive: true }),
    async run(random) {
      write('config.json', damaged(read('models/qwen2/config.json'), random))
      await useModel()
    },
  },
  safetensors: {
    prepare: () => cpSync(join(fixtures, 'models/qwen2'), work, { recursive: true }),
    async run(random) {
      const file = Buffer.from(readFileSync(join(fixtures, 'models/qwen2/model.safetensors')))
      const length = Number(file.readBigUInt64LE(0))
      const chance = random.next()
      if (chance < 0.2) for (let i = random.below(4); i >= 0; i--) file[random.below(8)] = random.below(256)
      else if (chance < 0.4)
        for (let i = random.below(4); i >= 0; i--) file[8 + random.below(length)] = random.below(256)
      else if (chance < 0.5) return void (await put(file.subarray(0, random.below(file.length))))
      else {
        const header = Buffer.from(damaged(file.subarray(8, 8 + length).toString(), random))
        const size = Buffer.alloc(8)
        size.writeBigUInt64LE(BigInt(header.length))
        return void (await put(Buffer.concat([size, header, file.subarray(8 + length)])))
      }
      await put(file)

      async function put(content) {
        write('model.safetensors', content)
        await useModel()
      }
    },
  },
}

mkdirSync(work, { recursive: true })
kinds[kind].prepare()
for (let i = Number(from); i < Number(to); i++) {
  console.log(`case ${i}`)
  try {
    await kinds[kind].run(randomNumbers(i))
  } catch (error) {
    if (!(error instanceof WhetstoneError))
      console.log(`error ${JSON.stringify({ case: i, error: error?.stack ?? String(error) })}`)
  }
}
console.log('done')
