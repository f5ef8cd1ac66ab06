import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  chatFields,
  completionFields,
  detokenizeFields,
  generateFields,
  samplingParamsFields,
  streamOptionsFields,
  tokenizeFields,
} from '../../src/serve/field-tables.js'
import type { FieldTable } from '../../src/serve/request-shape.js'
import { makeWorld, post, type World } from '../support/serve.js'
import { fieldsPage } from './fields-page.js'
import * as vllm from './vllm-fields.js'

const clientDirectory = dirname(createRequire(import.meta.url).resolve('openai'))

/** The fields an interface of a declaration file has, those of types inside it left out. */
function interfaceFields(path: string, name: string): string[] {
  const text = readFileSync(join(clientDirectory, path), 'utf8')
  const start = text.search(new RegExp(`^export interface ${name} \\{$`, 'm'))
  if (start < 0) throw new Error(`${path} has no interface ${name}`)
  const body = text.slice(start, text.indexOf('\n}', start))
  return [...body.matchAll(/^ {4}(\w+)\??:/gm)].map(match => match[1]!)
}

describe('every published field is a decision', () => {
  const chat = 'resources/chat/completions/completions.d.ts'
  const cases: [string, FieldTable, readonly string[]][] = [
    [
      'OpenAI completions',
      completionFields,
      interfaceFields('resources/completions.d.ts', 'CompletionCreateParamsBase'),
    ],
    ['OpenAI chat', chatFields, interfaceFields(chat, 'ChatCompletionCreateParamsBase')],
    ['OpenAI stream options', streamOptionsFields, interfaceFields(chat, 'ChatCompletionStreamOptions')],
    ['vLLM completions', completionFields, [...vllm.completionRequest, ...vllm.retired]],
    ['vLLM chat', chatFields, [...vllm.chatCompletionRequest, ...vllm.retired.filter(name => name !== 'best_of')]],
    ['vLLM stream options', streamOptionsFields, vllm.streamOptions],
    ['vLLM generate', generateFields, vllm.generateRequest],
    ['vLLM sampling parameters', samplingParamsFields, vllm.samplingParams],
    ['vLLM tokenize', tokenizeFields, [...vllm.tokenizeCompletionRequest, ...vllm.tokenizeChatRequest]],
    ['vLLM detokenize', detokenizeFields, vllm.detokenizeRequest],
  ]
  test.each(cases)('%s', (_, table, published) => {
    expect(published.length).toBeGreaterThan(1)
    expect(published.filter(name => !Object.hasOwn(table, name))).toEqual([])
  })

  test('the reader sees the fields and not what is inside them', () => {
    const fields = interfaceFields(chat, 'ChatCompletionCreateParamsBase')
    expect(fields).toContain('logit_bias')
    expect(fields).toContain('web_search_options')
    expect(fields.length).toBeGreaterThan(30)
    expect(() => interfaceFields(chat, 'Nothing')).toThrow('no interface')
  })
})

test('the docs are made from the tables', async () => {
  await expect(fieldsPage()).toMatchFileSnapshot('../../docs/serve-fields.md')
})

describe('over HTTP', () => {
  let world: World
  let port: number
  beforeAll(async () => {
    world = await makeWorld()
    port = (await world.serve()).port
  })
  afterAll(() => world.close())

  const routes: [string, FieldTable, object][] = [
    ['/v1/completions', completionFields, { prompt: [5, 6], max_tokens: 1 }],
    ['/v1/chat/completions', chatFields, { messages: [{ role: 'user', content: 'Hi' }], max_tokens: 1 }],
    ['/tokenize', tokenizeFields, { prompt: 'x' }],
  ]
  test.each(routes)(
    '%s: refused fields name themselves, harmless ones do nothing, null is nothing',
    async (path, table, body) => {
      // A value no rule takes for neutral, of whatever type.
      const strange = { strange: ['value'] }
      for (const [name, rule] of Object.entries(table)) {
        const answer = await post(port, path, { ...body, [name]: strange })
        expect(answer.status, name).toBe(rule.kind === 'harmless' || name === 'chat_template_kwargs' ? 200 : 400)
        if (rule.kind === 'refused') {
          expect(answer.body.error).toMatchObject({ param: name, type: 'BadRequestError' })
          expect(answer.body.error.message).toBe(`${name} is not supported by this server: ${rule.note}.`)
        }
        if (!(name in body)) expect((await post(port, path, { ...body, [name]: null })).status, name).toBe(200)
      }
    },
  )

  const complete = (fields: object) => post(port, '/v1/completions', { prompt: [5, 6], max_tokens: 2, ...fields })
  const chat = (fields: object) =>
    post(port, '/v1/chat/completions', { messages: [{ role: 'user', content: 'Hi' }], max_tokens: 2, ...fields })
  const refusal = async (answer: ReturnType<typeof post>) => {
    const { status, body } = await answer
    expect(status).toBe(400)
    return body.error as { message: string; param: string | null }
  }

  test('a field nobody knows is refused, and a misspelt one shown right', async () => {
    expect(await refusal(complete({ temprature: 0.5 }))).toMatchObject({
      message: 'Unrecognized request argument supplied: temprature; did you mean temperature?',
      param: 'temprature',
    })
    expect((await refusal(complete({ unheard_of: 1 }))).message).toBe(
      'Unrecognized request argument supplied: unheard_of.',
    )
    expect((await refusal(complete({ constructor: 1 }))).param).toBe('constructor')
    const generate = { token_ids: [5], sampling_params: { max_token: 3 } }
    expect((await refusal(post(port, '/inference/v1/generate', generate))).message).toContain('max_tokens')
  })

  test('neutral values of refused fields pass', async () => {
    const neutral = {
      presence_penalty: 0,
      repetition_penalty: 1,
      length_penalty: 1,
      early_stopping: false,
      use_beam_search: false,
      response_format: { type: 'text' },
    }
    expect((await complete({ ...neutral, n: 3, best_of: 3, suffix: '' })).status).toBe(200)
    expect((await complete({ n: 2, best_of: 3 })).status).toBe(400)
    const ofChat = { tool_choice: 'auto', functions: [], function_call: 'none', echo: false, modalities: ['text'] }
    expect((await chat({ ...neutral, ...ofChat, parallel_tool_calls: false })).status).toBe(200)
    for (const fields of [{ echo: true }, { modalities: ['text', 'audio'] }, { tool_choice: 'required' }])
      expect((await chat(fields)).status).toBe(400)
  })

  test('tools that the template does not write are refused, unless none is to be called', async () => {
    const tools = [{ type: 'function', function: { name: 'f' } }]
    expect(await refusal(chat({ tools }))).toMatchObject({
      param: 'tools',
      message: expect.stringContaining('template'),
    })
    expect((await chat({ tools, tool_choice: 'none' })).status).toBe(200)
    expect(await refusal(chat({ documents: [{ text: 'x' }] }))).toMatchObject({ param: 'documents' })
    expect((await chat({ tools: [] })).status).toBe(200)
  })

  test('log-probabilities that would not come are refused', async () => {
    expect((await refusal(chat({ top_logprobs: 3 }))).param).toBe('top_logprobs')
    expect((await chat({ top_logprobs: 0 })).status).toBe(200)
    expect((await refusal(complete({ stream: true, prompt_logprobs: 1 }))).param).toBe('prompt_logprobs')
    expect((await refusal(complete({ stream_options: { include_usage: true } }))).param).toBe('stream_options')
  })

  test('a bias of 0 does nothing; keys are ids', async () => {
    const plain = await complete({ seed: 3, return_token_ids: true })
    const unbiased = await complete({ seed: 3, return_token_ids: true, logit_bias: { 7: 0 } })
    expect(unbiased.body.choices[0].token_ids).toEqual(plain.body.choices[0].token_ids)
    for (const key of ['', '0x10', '1e1', ' 5', '-1', '05'])
      expect((await refusal(complete({ logit_bias: { [key]: -100 } }))).param).toBe('body.logit_bias')
    expect((await refusal(complete({ logit_bias: { 5: 3 } }))).param).toBe('logit_bias')
    expect((await refusal(complete({ logit_bias: { 5: 101 } }))).param).toBe('body.logit_bias')
  })

  test('values nothing can be sampled with are the client’s mistake', async () => {
    expect((await refusal(complete({ temperature: 1e-300 }))).param).toBe('temperature')
    const { vocabSize } = world.opened.engine
    const all = Object.fromEntries(Array.from({ length: vocabSize }, (_, id) => [id, -100]))
    expect((await refusal(complete({ logit_bias: all }))).message).toContain('forbids every token')
    const eos = world.opened.tokenizer!.stopIds[0]!
    const { [eos]: _, ...allButEos } = all
    expect((await refusal(complete({ logit_bias: allButEos, min_tokens: 1 }))).param).toBe('logit_bias')
    expect((await complete({ logit_bias: allButEos })).status).toBe(200)
  })

  test('text in parts is text, and other parts are refused by name', async () => {
    const ids = async (content: unknown) =>
      (await chat({ messages: [{ role: 'user', content }], return_token_ids: true })).body.prompt_token_ids
    expect(await ids([{ type: 'text', text: 'Hello' }])).toEqual(await ids('Hello'))
    const image = [{ type: 'image_url', image_url: { url: 'data:' } }]
    const nothing = await refusal(
      chat({
        messages: [
          { role: 'user', content: 'Hi' },
          { role: 'assistant', content: null },
        ],
      }),
    )
    expect(nothing.message).toBe(
      'messages[1] (role "assistant"): content: null, which the chat template cannot write; give it text',
    )
    const { message, param } = await refusal(chat({ messages: [{ role: 'user', content: image }] }))
    expect(param).toBe('messages')
    expect(message).toContain('a part of type "image_url"')
  })

  test('truncate_prompt_tokens of -1 leaves room for the response', async () => {
    const prompt = Array.from({ length: 300 }, (_, i) => 3 + (i % 100))
    const asked = { prompt, max_tokens: 20, truncate_prompt_tokens: -1, return_token_ids: true, ignore_eos: true }
    const [choice] = (await complete(asked)).body.choices
    expect(choice.prompt_token_ids).toEqual(prompt.slice(-236))
    expect(choice.token_ids).toHaveLength(20)
  })
})
