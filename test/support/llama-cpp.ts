/** A GGUF file in llama.cpp and its model here: what differs, and whether it is more than rounding. */
import { spawn } from 'node:child_process'
import { cp, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import type { WrittenType } from '../../src/gguf/quantize.js'
import { LocalModel } from '../../src/model/index.js'
import { LocalEngine } from '../../src/rollout/index.js'
import { type ChatMessage, Tokenizer } from '../../src/text/index.js'
import { collect, numbers, randomIds } from './generation.js'
import { logprobsAsLlamaCpp } from './llama-cpp-numbers.js'
import { fixture, temporary } from './models.js'

const installed = process.env.WHETSTONE_NODE_LLAMA_CPP
if (installed === undefined) throw new Error('run this with npm run test:gguf')

/**
 * How far log-probabilities may be from those of llama.cpp, which rounds what it multiplies with a matrix to the type of the matrix (to q8_0
 * for q4_0). This model does the same in "the same numbers", and is then equal but for numbers on the edge between two roundings. Each such
 * number moves what follows; through many layers that is as much as rounding itself.
 *
 * - `equal`: the largest difference of a model of few layers, in the same numbers. A wrong export is off by four times this and more. A model
 *   of many layers in f16 or bf16 may be off by as much as llama.cpp is from itself, where that is more.
 * - `mean`, `most`: mean and largest difference of every model, in the same numbers and in float32.
 */
export const bounds = {
  f16: { equal: 2e-2, mean: 2e-2, most: 2e-2 },
  bf16: { equal: 2e-2, mean: 2e-2, most: 1.5e-1 },
  q8_0: { equal: 5e-2, mean: 1.5e-1, most: 5e-1 },
  q4_0: { equal: 5e-2, mean: 2e-1, most: 1 },
} as const satisfies Partial<Record<WrittenType, { equal: number; mean: number; most: number }>>
export type ComparedType = keyof typeof bounds
const fewLayers = 4

interface Answer {
  ids: number[][]
  chats: number[][]
  bos: number | null
  eos: number | null
  addsBos: boolean
  logprobs: number[][]
  greedy: { id: number; margin: number }[]
}
interface Request {
  model: string
  texts?: readonly string[]
  chats?: readonly (readonly ChatMessage[])[]
  sequences?: readonly (readonly number[])[]
  greedy?: { prompt: readonly number[]; count: number }
  /** Tokens that are computed at once. Default: all. */
  batch?: number
}

const driver = new URL('../gguf/llama-cpp.mjs', import.meta.url).pathname

/** libtorch and llama.cpp bring threads and allocators of their own: each has its process. */
export async function llamaCpp(request: Request): Promise<Answer> {
  const child = spawn(process.execPath, [driver, installed!], { stdio: ['pipe', 'pipe', 'pipe'] })
  child.stdin.end(JSON.stringify(request))
  const [answer, problems] = await Promise.all([text(child.stdout), text(child.stderr)])
  if (answer === '') throw new Error(`llama.cpp: ${problems.slice(-2000)}`)
  return JSON.parse(answer) as Answer
}

export const texts = [
  'Hello world',
  "it's, we'LL and THEY'RE don't",
  'numbers 1 12 123 1234 1234567 3.14 ²½',
  '  two  spaces,\ttabs\n\n\nlines \r\n and an end   ',
  'Größe naïve Ωμέγα Привет 你好，世界 こんにちは 한국어 हिन्दी',
  '🙂 👩‍👩‍👧 x=[1,2];if(a<b){return "c"} // $5.00 #tag @you',
  'CamelCaseWords and ALLCAPS',
  '<|im_start|>user\nHi<|im_end|>\n<|im_start|>assistant\n',
  'a<|endoftext|> b <|im_end|>c',
]
const chats: ChatMessage[][] = [
  [{ role: 'user', content: 'What is 2 + 2?' }],
  [
    { role: 'system', content: 'Be brief.' },
    { role: 'user', content: "It's 12 o'clock." },
    { role: 'assistant', content: 'So it is.' },
    { role: 'user', content: 'And now?\n\nSay it.' },
  ],
]

/** A golden model with a tokenizer; llama.cpp has SmolLM3 with every fourth layer unrotated alone. */
export async function goldenModel(name: string): Promise<string> {
  const directory = temporary(name)
  await cp(fixture(name), directory, { recursive: true })
  for (const file of ['tokenizer.json', 'tokenizer_config.json', 'chat_template.jinja'])
    await cp(join(fixture('eos-pad'), file), join(directory, file))
  const path = join(directory, 'config.json')
  const config = JSON.parse(await readFile(path, 'utf8')) as Record<string, unknown>
  if (name === 'smollm3')
    await writeFile(path, JSON.stringify({ ...config, no_rope_layer_interval: 4, no_rope_layers: [1, 1, 1, 0] }))
  return directory
}

export interface Difference {
  readonly mean: number
  readonly most: number
}

export interface Comparison {
  /** Of log-probabilities from those of llama.cpp. */
  readonly same: Difference
  readonly float32: Difference
  /** Of llama.cpp from itself, where it reads a text token by token instead of at once. */
  readonly own: Difference
  /** Of the tokens that llama.cpp chose: those that are the likeliest here too, and those with a clear choice. */
  readonly greedy: { readonly equal: number; readonly clear: number; readonly count: number }
  /** What is more than rounding. */
  readonly problems: readonly string[]
}

const count = 24

export interface Expected {
  readonly type: ComparedType
  /** The model that was exported: its tokenizer counts. */
  readonly source: string
  /** A directory with the weights that the file should have, in float32. */
  readonly weights: string
}

export async function compareWithLlamaCpp(file: string, { type, source, weights }: Expected): Promise<Comparison> {
  const tokenizer = await Tokenizer.load(source)
  const { sequences, prompt } = await inputs(tokenizer)
  const theirs = await llamaCpp({ model: file, texts, chats, sequences, greedy: { prompt, count } })
  const model = await LocalModel.load(weights, { role: 'language', dtype: 'float32' })
  const scored = await model.score(sequences.map(ids => Int32Array.from(ids)))
  const same = sequences.map(ids => ofNext(logprobsAsLlamaCpp(model, type, ids), ids))
  const chosen = theirs.greedy.map(({ id }) => id)
  const forced = logprobsAsLlamaCpp(model, type, [...prompt, ...chosen])
  const engine = new LocalEngine(model, { eosIds: [] })
  const sampling = { seed: 0, temperature: 0, maxNewTokens: count, minNewTokens: count }
  const found = await collect(engine, [{ id: '0', promptIds: Int32Array.from(prompt), sampling }])
  await engine.close()
  const isShallow = model.config.decoder.layers <= fewLayers
  model.dispose()

  const { equal, mean, most } = bounds[type]
  const differences = {
    same: difference(same, theirs.logprobs),
    float32: difference(
      scored.map(({ logprobs }) => [...logprobs]),
      theirs.logprobs,
    ),
  }
  const greedy = choices(forced, {
    from: prompt.length - 1,
    theirs: theirs.greedy,
    bound: isShallow ? equal : mean,
  })
  const problems = [...greedy.problems, ...(await tokenProblems(theirs, tokenizer))]
  const check = (what: string, value: number, bound: number): void => {
    if (!(value < bound)) problems.push(`log-probabilities: ${what} is ${value.toExponential(1)}`)
  }
  const single = isShallow ? theirs : await llamaCpp({ model: file, sequences, batch: 1 })
  const own = difference(single.logprobs, theirs.logprobs)
  if (isShallow) check('the largest difference in the same numbers', differences.same.most, equal)
  else if (type === 'f16' || type === 'bf16')
    check('the largest difference in the same numbers', differences.same.most, Math.max(equal, own.most))
  for (const [name, found] of Object.entries(differences)) {
    check(`the mean difference (${name})`, found.mean, mean)
    check(`the largest difference (${name})`, found.most, most)
  }
  // By itself the engine, in float32, may leave their way where the two likeliest tokens are as good as equal.
  const open = theirs.greedy.findIndex(({ margin }) => margin < 2 * (isShallow ? equal : mean))
  const until = open < 0 ? count : open
  if (String([...found.get('0/0')!.responseIds].slice(0, until)) !== String(chosen.slice(0, until)))
    problems.push(`the engine's greedy tokens differ among the first ${until}`)
  return { ...differences, own, greedy, problems }
}

async function inputs(tokenizer: Tokenizer): Promise<{ sequences: number[][]; prompt: number[] }> {
  if (tokenizer.vocabSize > 1000)
    return {
      sequences: [
        [...(await tokenizer.encode('The capital of France is Paris, and 2 + 2 = 4. Once upon a time, a dog'))],
      ],
      prompt: [...(await tokenizer.encodeChat(chats[0]!, { addGenerationPrompt: true }))],
    }
  const next = numbers(7)
  const sequences = [0, 1].map(() => [...randomIds(next, 40, 259)])
  return { sequences, prompt: sequences[0]!.slice(0, 12) }
}

/** The log-probability of each token but the first. */
function ofNext(all: Float32Array, ids: readonly number[]): number[] {
  const width = all.length / ids.length
  return ids.slice(1).map((id, i) => all[i * width + id]!)
}

function difference(own: readonly (readonly number[])[], theirs: readonly (readonly number[])[]): Difference {
  const all = own.flatMap((list, i) => list.map((value, t) => Math.abs(value - theirs[i]![t]!)))
  return { mean: all.reduce((sum, one) => sum + one, 0) / all.length, most: Math.max(...all) }
}

/** Their greedy tokens, each behind those before it: a clear choice is the same here, another one is nearly the best here. */
function choices(
  all: Float32Array,
  { from, theirs, bound }: { from: number; theirs: Answer['greedy']; bound: number },
): Comparison['greedy'] & { problems: string[] } {
  const width = all.length / (from + 1 + theirs.length)
  const problems: string[] = []
  let [equal, clear] = [0, 0]
  for (const [i, { id, margin }] of theirs.entries()) {
    const row = all.subarray((from + i) * width, (from + i + 1) * width)
    const most = row.reduce((a, b) => Math.max(a, b))
    if (row[id] === most) equal++
    if (margin > 2 * bound) clear++
    // Also where llama.cpp gives no token at all.
    if (!(most - row[id]! <= 2 * bound))
      problems.push(`greedy token ${i} (${id}) is ${(most - row[id]!).toExponential(1)} below the likeliest here`)
  }
  return { equal, clear, count: theirs.length, problems }
}

async function tokenProblems(theirs: Answer, tokenizer: Tokenizer): Promise<string[]> {
  const problems: string[] = []
  for (const [i, text] of texts.entries())
    if (String(theirs.ids[i]) !== String([...(await tokenizer.encode(text, { addSpecialTokens: false }))]))
      problems.push(`ids of ${JSON.stringify(text)}`)
  for (const [i, chat] of chats.entries())
    if (String(theirs.chats[i]) !== String([...(await tokenizer.encodeChat(chat, { addGenerationPrompt: true }))]))
      problems.push(`ids of conversation ${i}`)
  if (theirs.bos !== (tokenizer.bosId ?? null)) problems.push(`bos is ${theirs.bos}`)
  if (theirs.eos !== (tokenizer.eosId ?? null)) problems.push(`eos is ${theirs.eos}`)
  return problems
}
