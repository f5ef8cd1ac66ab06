import { afterAll, beforeAll, expect, test } from 'vitest'
import { ModelServer } from '../../src/serve/index.js'
import { ScriptedGenerator } from '../support/doubles/scripted-generator.js'
import { send } from '../support/serve.js'

/** Counts on from the prompt's last token, so far; to one that ends with 0, for ever. */
function* counting(promptIds: Int32Array, sample: number): Iterable<number> & Iterator<number> {
  const last = promptIds.at(-1)!
  for (let i = 1; last === 0 || i <= last; i++) yield (last + sample + i) % 26
}
const letters = (id: number): string => String.fromCharCode(97 + id)

const engine = new ScriptedGenerator(counting, 26, letters)
let server: ModelServer
beforeAll(async () => {
  server = await ModelServer.start({ engine, tokenizer: undefined, name: 'scripted', port: 0 })
})
afterAll(async () => {
  await server.close({ graceMs: 0 })
  await engine.close()
})

interface Answer {
  choices: { index: number; finish_reason: string; token_ids: number[] }[]
  usage: object
}

test('whatever keeps the contract is served: choices, finish reasons, usage', async () => {
  const body = { prompt: [[7, 3], [1]], n: 2, max_tokens: 2, return_token_ids: true }
  const { status, text } = await send(server.port, '/v1/completions', body)
  expect(status, text).toBe(200)
  const { choices, usage } = JSON.parse(text) as Answer
  expect(choices.map(({ index, token_ids, finish_reason }) => [index, token_ids, finish_reason])).toEqual([
    [0, [4, 5], 'length'],
    [1, [5, 6], 'length'],
    [2, [2], 'stop'],
    [3, [3], 'stop'],
  ])
  expect(usage).toMatchObject({ prompt_tokens: 3, completion_tokens: 6 })
})

test('a stream has the text as it comes', async () => {
  const body = { prompt: [4], max_tokens: 3, stream: true }
  const { text } = await send(server.port, '/v1/completions', body)
  const events = text.split('\n').flatMap(line => (line.startsWith('data: {') ? [JSON.parse(line.slice(6))] : []))
  const texts = (events as { choices: { text: string }[] }[]).flatMap(({ choices }) => choices.map(each => each.text))
  expect(texts.join('')).toBe('fgh')
})

test('a client that leaves ends its samples', async () => {
  const leave = new AbortController()
  const url = `http://127.0.0.1:${server.port}/v1/completions`
  const body = JSON.stringify({ prompt: [0], max_tokens: 250, n: 3 })
  const headers = { 'content-type': 'application/json' }
  const asked = fetch(url, { method: 'POST', body, headers, signal: leave.signal }).catch(() => undefined)
  await engine.pause()
  await expect.poll(() => engine.counts.running, { timeout: 20_000 }).toBe(3)
  leave.abort()
  await asked
  await expect.poll(() => engine.counts.running, { timeout: 20_000 }).toBe(0)
  engine.resume()
})
