/** What experience benches share: a tokenizer with as many tokens as the model, prompts, and rewards that cost nothing or a wait. */
import { mkdir, writeFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { Tokenizer } from 'whetstone/text'

/** How byte-level tokenizers write the bytes that are no printable character, in their order. */
const printable = (/** @type {number} */ byte) =>
  (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte <= 0xac) || byte >= 0xae
const letters = Array.from('etaoinshrdlcumwfgypbvkjxqzETAOINSHRDLCUMWFGYPBVKJXQZ0123456789')

/**
 * A byte-level tokenizer of exactly `vocabSize` tokens: bytes, pairs of letters, then three letters, each merged as in any
 * other BPE; the last token ends a sequence. Texts of random models decode as those of a trained tokenizer would: a few letters a token.
 *
 * @param {string} directory
 * @param {number} vocabSize up to 240,000
 */
export async function makeTokenizer(directory, vocabSize) {
  let next = 0x100
  const tokens = Array.from({ length: 256 }, (_, byte) => String.fromCharCode(printable(byte) ? byte : next++))
  /** @type {[string, string][]} */
  const merges = []
  const merge = (/** @type {string} */ first, /** @type {string} */ second) => {
    if (tokens.length === vocabSize - 1) return
    merges.push([first, second])
    tokens.push(first + second)
  }
  const pairs = letters.flatMap(first => letters.map(second => [first, second]))
  for (const [first, second] of pairs) merge(first, second)
  for (const [first, second] of pairs) for (const third of letters) merge(first + second, third)
  const end = '<|end|>'
  const byteLevel = { type: 'ByteLevel', add_prefix_space: false, trim_offsets: true, use_regex: true }
  const added = { single_word: false, lstrip: false, rstrip: false, normalized: false, special: true }
  await mkdir(directory, { recursive: true })
  await writeFile(
    `${directory}/tokenizer.json`,
    JSON.stringify({
      version: '1.0',
      added_tokens: [{ id: tokens.length, content: end, ...added }],
      pre_tokenizer: byteLevel,
      decoder: byteLevel,
      model: { type: 'BPE', vocab: Object.fromEntries(tokens.map((token, id) => [token, id])), merges },
    }),
  )
  await writeFile(`${directory}/tokenizer_config.json`, JSON.stringify({ eos_token: end }))
  return Tokenizer.load(directory)
}

/** Numbers that look random and are the same every time. @param {number} seed */
export function numbers(seed) {
  let state = seed >>> 0
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0
    return (state + 0.5) / 2 ** 32
  }
}

/** Texts of about `length` tokens each. @param {Tokenizer} tokenizer @param {number} count @param {number} length */
export async function makePrompts(tokenizer, count, length) {
  const next = numbers(count)
  const letter = () => letters[Math.floor(next() * 26)]
  const texts = Array.from({ length: count }, () =>
    Array.from({ length }, () => letter() + letter() + letter()).join(' '),
  )
  const ids = await tokenizer.encodeBatch(texts)
  return Promise.all(ids.map(each => tokenizer.decode(each.subarray(0, length))))
}

/**
 * A reward server in LightRFT's dialect on this machine: waits `delayMs` before each answer, however many it is asked at a time.
 *
 * @param {{ delayMs: number }} options
 */
export async function startRewardServer(options) {
  const server = createServer(async (request, response) => {
    const parts = []
    for await (const part of request) parts.push(part)
    const { queries } = JSON.parse(Buffer.concat(parts).toString())
    if (options.delayMs > 0) await sleep(options.delayMs)
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify({ rewards: queries.map((/** @type {string} */ query) => query.length % 7) }))
  })
  await new Promise(resolve => server.listen(0, '127.0.0.1', () => resolve(undefined)))
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address())
  return {
    url: `http://127.0.0.1:${port}`,
    options,
    close: () => {
      server.closeAllConnections()
      server.close()
    },
  }
}
