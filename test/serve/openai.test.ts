import OpenAI from 'openai'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Tokenizer } from '../../src/text/index.js'
import { makeWorld, post, send, type World } from '../support/serve.js'

let world: World
let client: OpenAI
let port: number
let tokenizer: Tokenizer
beforeAll(async () => {
  world = await makeWorld()
  port = (await world.serve()).port
  tokenizer = world.opened.tokenizer!
  client = new OpenAI({ baseURL: `http://127.0.0.1:${port}/v1`, apiKey: 'none', maxRetries: 0 })
})
afterAll(() => world.close())

const ids = [58, 185, 41, 110, 22, 28]
const extra = (fields: object): object => fields

describe('completions by the official client', () => {
  test('plain: text, usage, log-probabilities, ids', async () => {
    const answer = await client.completions.create({
      model: 'tiny',
      prompt: 'Once upon a time',
      max_tokens: 8,
      temperature: 1,
      seed: 7,
      n: 2,
      logprobs: 1,
      ...extra({ return_token_ids: true }),
    })
    expect(answer).toMatchObject({ object: 'text_completion', model: 'tiny' })
    expect(answer.choices.map(({ index }) => index)).toEqual([0, 1])
    const promptIds = [...(await tokenizer.encode('Once upon a time'))]
    for (const choice of answer.choices) {
      const { token_ids, prompt_token_ids } = choice as unknown as { token_ids: number[]; prompt_token_ids: number[] }
      expect(prompt_token_ids).toEqual(promptIds)
      expect(choice.logprobs!.token_logprobs).toHaveLength(token_ids.length)
      expect(choice.logprobs!.tokens).toEqual(await Promise.all(token_ids.map(id => tokenizer.decode([id]))))
      if (choice.finish_reason === 'length')
        expect(choice.text).toBe(await tokenizer.decode(token_ids, { skipSpecialTokens: true }))
    }
    expect(answer.choices[0]!.text).not.toBe(answer.choices[1]!.text)
    const completion = answer.choices.reduce((sum, c) => sum + c.logprobs!.token_logprobs!.length, 0)
    expect(answer.usage).toMatchObject({ prompt_tokens: promptIds.length, completion_tokens: completion })
  })

  test('streamed: the same tokens one by one, then usage', async () => {
    const body = { model: 'tiny', prompt: ids, max_tokens: 10, seed: 3, n: 2, ...extra({ ignore_eos: true }) }
    const plain = await client.completions.create({ ...body, prompt: ids })
    const stream = await client.completions.create({
      ...body,
      prompt: ids,
      stream: true,
      stream_options: { include_usage: true },
    })
    const texts = ['', '']
    const reasons: unknown[] = [null, null]
    let usage: unknown
    for await (const chunk of stream) {
      for (const { index, text, finish_reason } of chunk.choices) {
        texts[index] += text
        if (finish_reason) reasons[index] = finish_reason
      }
      usage = chunk.usage ?? usage
    }
    expect(texts).toEqual(plain.choices.map(({ text }) => text))
    expect(reasons).toEqual(['length', 'length'])
    expect(usage).toEqual({ prompt_tokens: 6, total_tokens: 26, completion_tokens: 20 })
  })

  test('several prompts: choices prompt by prompt', async () => {
    const { body } = await post(port, '/v1/completions', {
      prompt: [
        [5, 6],
        [7, 8, 9],
      ],
      n: 2,
      max_tokens: 2,
      return_token_ids: true,
    })
    expect(
      body.choices.map((c: { index: number; prompt_token_ids: number[] }) => [c.index, c.prompt_token_ids]),
    ).toEqual([
      [0, [5, 6]],
      [1, [5, 6]],
      [2, [7, 8, 9]],
      [3, [7, 8, 9]],
    ])
    expect(body.usage.prompt_tokens).toBe(5)
  })

  test('the same seed gives the same tokens, another one others', async () => {
    const ask = async (seed: number) =>
      (await client.completions.create({ model: 'tiny', prompt: ids, max_tokens: 12, seed })).choices[0]!.text
    expect(await ask(5)).toBe(await ask(5))
    expect(await ask(5)).not.toBe(await ask(6))
  })

  test('stop strings and stop ids; what ended it is said', async () => {
    const base = {
      prompt: ids,
      max_tokens: 20,
      seed: 11,
      return_token_ids: true,
      ignore_eos: true,
      skip_special_tokens: false,
    }
    const free = (await post(port, '/v1/completions', base)).body.choices[0]
    const stop = (free.text as string).slice(5, 9)
    const stopped = (await post(port, '/v1/completions', { ...base, stop: [stop] })).body.choices[0]
    expect(stopped).toMatchObject({
      finish_reason: 'stop',
      stop_reason: stop,
      text: free.text.slice(0, free.text.indexOf(stop)),
    })
    expect(await tokenizer.decode(stopped.token_ids)).toContain(stop)
    const included = { ...base, stop: [stop], include_stop_str_in_output: true }
    expect((await post(port, '/v1/completions', included)).body.choices[0].text).toBe(stopped.text + stop)
    const id = free.token_ids[6]
    const byId = (await post(port, '/v1/completions', { ...base, stop_token_ids: [id] })).body.choices[0]
    expect(byId).toMatchObject({ finish_reason: 'stop', stop_reason: id })
    expect(byId.token_ids.at(-1)).toBe(id)
    const late = (await post(port, '/v1/completions', { ...base, stop_token_ids: [id], min_tokens: 15 })).body
      .choices[0]
    expect(late.token_ids.length).toBeGreaterThanOrEqual(15)
  })

  test("the prompt's log-probabilities, and echo as scoring", async () => {
    const { body } = await post(port, '/v1/completions', { prompt: ids, max_tokens: 1, prompt_logprobs: 0 })
    const rows = body.choices[0].prompt_logprobs
    expect(rows[0]).toBeNull()
    expect(rows).toHaveLength(ids.length)
    const [score] = await world.opened.model.score([Int32Array.from(ids)])
    for (const [i, id] of ids.slice(1).entries()) expect(rows[i + 1][id].logprob).toBeCloseTo(score!.logprobs[i]!, 4)
    const echoed = (await post(port, '/v1/completions', { prompt: ids, max_tokens: 0, echo: true, logprobs: 0 })).body
    expect(echoed.choices[0].logprobs.token_logprobs[0]).toBeNull()
    expect(echoed.choices[0].logprobs.token_logprobs[3]).toBeCloseTo(score!.logprobs[2]!, 4)
    expect(echoed.choices[0].text).toBe(await tokenizer.decode(ids))
    expect(echoed.usage.completion_tokens).toBe(0)
  })

  test('tokens as ids', async () => {
    const asked = {
      prompt: ids,
      max_tokens: 2,
      logprobs: 2,
      return_tokens_as_token_ids: true,
      return_token_ids: true,
      seed: 1,
    }
    const [choice] = (await post(port, '/v1/completions', asked)).body.choices
    expect(choice.logprobs.tokens).toEqual(choice.token_ids.map((id: number) => `token_id:${id}`))
    expect(Object.keys(choice.logprobs.top_logprobs[0]).length).toBeGreaterThanOrEqual(2)
  })

  test('a name of the client’s own', async () => {
    expect((await post(port, '/v1/completions', { prompt: ids, max_tokens: 1, request_id: 'abc' })).body.id).toBe(
      'cmpl-abc',
    )
    const { text } = await send(
      port,
      '/v1/completions',
      { prompt: ids, max_tokens: 1 },
      { headers: { 'x-request-id': 'hdr1' } },
    )
    expect(JSON.parse(text).id).toBe('cmpl-hdr1')
  })
})

describe('chat by the official client', () => {
  const messages = [{ role: 'user' as const, content: 'Hello' }]

  test('plain, with log-probabilities', async () => {
    const answer = await client.chat.completions.create({
      model: 'tiny',
      messages,
      max_completion_tokens: 6,
      logprobs: true,
      top_logprobs: 3,
      seed: 2,
      ...extra({ return_token_ids: true, ignore_eos: true }),
    })
    const [choice] = answer.choices
    expect(choice!.message).toMatchObject({ role: 'assistant' })
    expect(choice!.finish_reason).toBe('length')
    expect(choice!.logprobs!.content).toHaveLength(6)
    expect(choice!.logprobs!.content![0]!.top_logprobs).toHaveLength(3)
    const { prompt_token_ids } = answer as unknown as { prompt_token_ids: number[] }
    expect(prompt_token_ids).toEqual([...(await tokenizer.encodeChat(messages, { addGenerationPrompt: true }))])
  })

  test('streamed', async () => {
    const body = { model: 'tiny', messages, max_tokens: 12, seed: 2, n: 2 }
    const plain = await client.chat.completions.create(body)
    const stream = await client.chat.completions.create({ ...body, stream: true })
    const texts = ['', '']
    const roles: unknown[] = []
    for await (const { choices } of stream)
      for (const { index, delta } of choices) {
        texts[index] += delta.content ?? ''
        if (delta.role) roles.push(delta.role)
      }
    expect(texts).toEqual(plain.choices.map(({ message }) => message.content))
    expect(roles).toEqual(['assistant', 'assistant'])
  })

  test('a conversation the template refuses is the client’s mistake', async () => {
    await expect(client.chat.completions.create({ model: 'tiny', messages: [] })).rejects.toMatchObject({ status: 400 })
  })
})

test('tokens in, tokens out: ids, ranks, and the weights that made them', async () => {
  const sampling_params = { max_tokens: 5, logprobs: 2, n: 2, seed: 7, ignore_eos: true }
  const body = { request_id: 'g1', token_ids: ids, sampling_params }
  const { body: answer } = await post(port, '/inference/v1/generate', body)
  expect(answer.request_id).toBe('generate-tokens-g1')
  for (const choice of answer.choices) {
    expect(choice).toMatchObject({ finish_reason: 'length', weight_versions: [{ version: '0', start: 0, end: 5 }] })
    expect(choice.token_ids).toHaveLength(5)
    for (const [t, { token_id, rank, top_logprobs }] of choice.logprobs.content.entries()) {
      expect(token_id).toBe(choice.token_ids[t])
      expect(top_logprobs).toHaveLength(2)
      if (rank <= 2) expect(top_logprobs[rank - 1].token_id).toBe(token_id)
    }
  }
  const { text } = await send(port, '/inference/v1/generate', { ...body, stream: true })
  const streamed: number[][] = [[], []]
  for (const line of text.split('\n\n').filter(part => part.startsWith('data: {')))
    for (const { index, token_ids } of JSON.parse(line.slice(6)).choices) streamed[index]!.push(...token_ids)
  expect(streamed).toEqual(answer.choices.map((choice: { token_ids: number[] }) => choice.token_ids))
  expect((await post(port, '/inference/v1/generate', { sampling_params })).status).toBe(400)
})

describe('small routes', () => {
  test('models, health, version, metrics', async () => {
    const list = await client.models.list()
    expect(list.data[0]).toMatchObject({ id: 'tiny', object: 'model', max_model_len: 256 })
    expect(await send(port, '/health')).toMatchObject({ status: 200, text: '' })
    expect(JSON.parse((await send(port, '/version')).text).version).toMatch(/^\d+\./)
    const { text, headers } = await send(port, '/metrics')
    expect(headers['content-type']).toContain('text/plain')
    expect(text).toMatch(/^whetstone_generated_tokens_total [1-9]/m)
    expect(text).toMatch(/^whetstone_http_requests_total\{path="\/v1\/models",status="200"\} 1$/m)
    for (const line of text.trimEnd().split('\n')) expect(line).toMatch(/^(#|\w+(\{[^}]*\})? \S+$)/)
  })

  test('tokenize and detokenize', async () => {
    const prompt = 'Hello there'
    const { body } = await post(port, '/tokenize', { prompt, return_token_strs: true })
    expect(body).toMatchObject({ count: body.tokens.length, max_model_len: 256 })
    expect(body.tokens).toEqual([...(await tokenizer.encode(prompt))])
    expect(body.token_strs).toHaveLength(body.count)
    expect((await post(port, '/detokenize', { tokens: body.tokens })).body).toEqual({ prompt })
    const messages = [{ role: 'user', content: 'x' }]
    const chat = await post(port, '/tokenize', { messages })
    expect(chat.body.tokens).toEqual([...(await tokenizer.encodeChat(messages, { addGenerationPrompt: true }))])
  })
})
