import { afterAll, beforeAll, expect, test } from 'vitest'
import { ModelServer } from '../../src/serve/index.js'
import { ScriptedGenerator } from '../support/doubles/scripted-generator.js'
import { makeWorld, post, send, type World } from '../support/serve.js'

let world: World
let server: ModelServer
beforeAll(async () => {
  world = await makeWorld()
  server = await world.serve({ logprobsMode: 'processed_logprobs' })
})
afterAll(() => world.close())

const prompt = [5, 6, 7, 8]

/** The log-probabilities of the distribution after the prompt that a token is drawn from, by id. */
async function drawnFrom(
  ids: readonly number[],
  { temperature = 1, topK = 0, minP = 0, forbidden = [] as number[] },
): Promise<Map<number, number>> {
  const [logits] = await world.opened.model.nextLogits([Int32Array.from(ids)])
  const allowed = [...logits!.entries()].filter(([id]) => !forbidden.includes(id))
  const ranked = allowed.map(([id, logit]): [number, number] => [id, logit / temperature]).sort((a, b) => b[1] - a[1])
  const kept = ranked
    .slice(0, topK || ranked.length)
    .filter(([, value]) => value >= ranked[0]![1] + (minP === 0 ? Number.NEGATIVE_INFINITY : Math.log(minP)))
  const total = Math.log(kept.reduce((sum, [, value]) => sum + Math.exp(value - ranked[0]![1]), 0)) + ranked[0]![1]
  return new Map(kept.map(([id, value]) => [id, value - total]))
}

interface Entry {
  token_id: number
  logprob: number
  top_logprobs: { token_id: number; logprob: number }[]
}

const ways = [
  [{ temperature: 0.7 }, { temperature: 0.7 }],
  [
    { temperature: 1.4, top_k: 3 },
    { temperature: 1.4, topK: 3 },
  ],
  [
    { temperature: 0.9, min_p: 0.5 },
    { temperature: 0.9, minP: 0.5 },
  ],
  [{ temperature: 0 }, {}],
] as const

test.each(ways)('of tokens drawn with %j: their own and their alternatives’', async (given, settings) => {
  const sampling_params = { ...given, max_tokens: 6, logprobs: 5, seed: 3, ignore_eos: true }
  for (const stream of [false, true]) {
    const { status, text } = await send(server.port, '/inference/v1/generate', {
      token_ids: prompt,
      sampling_params,
      stream,
    })
    expect(status, text).toBe(200)
    const events = stream
      ? text.split('\n').flatMap(line => (line.startsWith('data: {') ? [JSON.parse(line.slice(6))] : []))
      : [JSON.parse(text)]
    const entries: Entry[] = events.flatMap(({ choices }) => choices[0].logprobs?.content ?? [])
    expect(entries).toHaveLength(6)
    const seen = [...prompt]
    for (const { token_id, logprob, top_logprobs } of entries) {
      const drawn = await drawnFrom(seen, settings)
      expect(logprob).toBeCloseTo(drawn.get(token_id)!, 3)
      expect(top_logprobs).toHaveLength(5)
      for (const other of top_logprobs) expect(other.logprob).toBeCloseTo(drawn.get(other.token_id) ?? -9999, 3)
      seen.push(token_id)
    }
  }
})

test('forbidden tokens have none, those of min_tokens as long as it lasts', async () => {
  const first = await drawnFrom(prompt, {})
  const [likeliest, second] = [...first.keys()]
  const sampling_params = {
    ...{ temperature: 1, max_tokens: 2, logprobs: 3, seed: 1, ignore_eos: true },
    ...{ logit_bias: { [likeliest!]: -100 }, min_tokens: 1, stop_token_ids: [second!] },
  }
  const { body } = await post(server.port, '/inference/v1/generate', { token_ids: prompt, sampling_params })
  const [one, two] = body.choices[0].logprobs.content as Entry[]
  const drawn = await drawnFrom(prompt, { forbidden: [likeliest!, second!] })
  for (const { token_id, logprob } of one!.top_logprobs) expect(logprob).toBeCloseTo(drawn.get(token_id) ?? -9999, 3)
  const later = await drawnFrom([...prompt, one!.token_id], { forbidden: [likeliest!] })
  for (const { token_id, logprob } of two!.top_logprobs) expect(logprob).toBeCloseTo(later.get(token_id) ?? -9999, 3)
})

test('completions and chats tell the same; prompts are raw', async () => {
  const body = {
    prompt,
    max_tokens: 1,
    logprobs: 1,
    temperature: 2,
    top_k: 1,
    prompt_logprobs: 0,
    return_token_ids: true,
  }
  const raw = await world.serve()
  const [processed, plain] = await Promise.all([server, raw].map(one => post(one.port, '/v1/completions', body)))
  expect(processed!.body.choices[0].logprobs.token_logprobs[0]).toBeCloseTo(0, 5)
  expect(plain!.body.choices[0].logprobs.token_logprobs[0]).toBeLessThan(-1e-3)
  expect(processed!.body.choices[0].prompt_logprobs).toEqual(plain!.body.choices[0].prompt_logprobs)
  const chat = { messages: [{ role: 'user', content: 'Hi' }], max_tokens: 1, logprobs: true, temperature: 2, top_k: 1 }
  const said = await post(server.port, '/v1/chat/completions', chat)
  expect(said.body.choices[0].logprobs.content[0].logprob).toBeCloseTo(0, 5)
})

test('alternatives beside top_p cannot be told, and are refused; the token’s own is given', async () => {
  const sampling_params = { top_p: 0.5, max_tokens: 1, logprobs: 1 }
  const refused = await post(server.port, '/inference/v1/generate', { token_ids: prompt, sampling_params })
  expect(refused.status).toBe(400)
  expect(refused.body.error.message).toContain('top_p')
  const own = await post(server.port, '/inference/v1/generate', {
    token_ids: prompt,
    sampling_params: { ...sampling_params, logprobs: 0 },
  })
  expect(own.body.choices[0].logprobs.content[0].logprob).toBeLessThanOrEqual(0)
})

test('an engine that has none of these is not started with', async () => {
  const engine = new ScriptedGenerator(() => [1])
  const options = { engine, tokenizer: undefined, name: 'scripted', port: 0 }
  await expect(ModelServer.start({ ...options, logprobsMode: 'processed_logprobs' })).rejects.toThrow('processed')
  await engine.close()
})
