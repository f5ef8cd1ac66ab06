/** Tool calls for the official client, and sessions that a server records. */
import OpenAI from 'openai'
import { afterAll, describe, expect, test } from 'vitest'
import { ModelServer, type ServeOptions } from '../../src/serve/index.js'
import { CallHolder } from '../../src/serve/tool-answer.js'
import { ScriptedGenerator } from '../support/doubles/scripted-generator.js'
import { familyTokenizer } from '../support/episodes.js'
import { fresh, jsonLines } from '../support/files.js'
import { send, until } from '../support/serve.js'

const servers: ModelServer[] = []
afterAll(() => Promise.all(servers.map(server => server.close({ graceMs: 0 }))))

const tools: OpenAI.ChatCompletionTool[] = [
  {
    type: 'function',
    function: {
      name: 'add',
      description: 'Adds.',
      parameters: { type: 'object', properties: { a: { type: 'number' } } },
    },
  },
]
const user = (content: string): OpenAI.ChatCompletionMessageParam => ({ role: 'user', content })

/** A server whose model says these turns, one after another. */
async function serverOf(template: string, turns: readonly string[], options: Partial<ServeOptions> = {}) {
  const tokenizer = await familyTokenizer(template)
  const [end] = tokenizer.turnEndIds.length > 0 ? tokenizer.turnEndIds : tokenizer.stopIds
  const texts = new Map<number, string>()
  const said = await Promise.all(
    turns.map(async turn => [...(await tokenizer.encode(turn, { addSpecialTokens: false })), end!]),
  )
  for (const id of said.flat()) texts.set(id, id === end ? '' : await tokenizer.decode([id]))
  const prompts: Int32Array[] = []
  const released: string[] = []
  const script = (ids: Int32Array): number[] => {
    prompts.push(ids)
    return said[prompts.length - 1] ?? [end!]
  }
  const scripted = new ScriptedGenerator(script, tokenizer.vocabSize, id => texts.get(id) ?? '')
  const engine = Object.assign(scripted, { maxLength: 4096, release: (name: string) => void released.push(name) })
  const server = await ModelServer.start({ engine, tokenizer, name: 'tiny', port: 0, ...options })
  servers.push(server)
  const baseURL = `http://127.0.0.1:${server.port}/v1`
  const client = (apiKey = 'none', headers = {}) =>
    new OpenAI({ baseURL, apiKey, maxRetries: 0, defaultHeaders: headers })
  return { server, engine, tokenizer, prompts, released, client }
}

describe('tool calls of plain chats', () => {
  const families = {
    qwen2_5: [`Wait.\n<tool_call>\n{"name": "add", "arguments": {"a": 1}}\n</tool_call>`, '<tool_call>{"name": broken'],
    llama3_1: ['{"name": "add", "parameters": {"a": 1}}', '<|python_tag|>{"name": broken'],
    mistral: ['[TOOL_CALLS] [{"name": "add", "arguments": {"a": 1}}]', '[TOOL_CALLS] broken'],
  }
  for (const [template, [good, broken]] of Object.entries(families))
    test(`plain and streamed, and broken ones as text (${template})`, async () => {
      const { client } = await serverOf(template, [good!, good!, broken!, broken!, 'No call.', good!])
      const body = { model: 'tiny', messages: [user('What?')], tools }
      const plain = await client().chat.completions.create(body)
      const streamed = await client().chat.completions.stream(body).finalChatCompletion()
      for (const { choices } of [plain, streamed]) {
        const { message, finish_reason } = choices[0]!
        expect(finish_reason).toBe('tool_calls')
        expect(message.content?.trim() ?? null).toBe(template === 'qwen2_5' ? 'Wait.' : null)
        const [call] = message.tool_calls as OpenAI.ChatCompletionMessageFunctionToolCall[]
        expect(call).toMatchObject({ type: 'function', function: { name: 'add' } })
        expect(JSON.parse(call!.function.arguments)).toEqual({ a: 1 })
        expect(call!.id).toMatch(/^call_/)
      }
      const text = await client().chat.completions.create(body)
      const events = await client().chat.completions.stream(body).finalChatCompletion()
      for (const { choices } of [text, events]) {
        expect(choices[0]).toMatchObject({ finish_reason: 'stop' })
        expect(choices[0]!.message.tool_calls).toBeUndefined()
        expect(choices[0]!.message.content).toContain('broken')
      }
      const answer = await client().chat.completions.stream(body).finalChatCompletion()
      expect(answer.choices[0]!.message.content).toBe('No call.')
      const none = await client().chat.completions.create({ ...body, tool_choice: 'none' })
      expect(none.choices[0]!.message.tool_calls).toBeUndefined()
    })

  test('results of tools go back as clients send them', async () => {
    const { client, prompts, tokenizer } = await serverOf('qwen2_5', ['One.'])
    const call = { id: 'c1', type: 'function' as const, function: { name: 'add', arguments: '{"a": 1}' } }
    const messages: OpenAI.ChatCompletionMessageParam[] = [
      user('What?'),
      { role: 'assistant', content: null, tool_calls: [call] },
      { role: 'tool', tool_call_id: 'c1', content: '2' },
    ]
    await client().chat.completions.create({ model: 'tiny', messages, tools })
    const text = await tokenizer.decode(prompts[0]!)
    expect(text).toContain('{"name": "add", "arguments": {"a": 1}}')
    expect(text).toContain('<tool_response>\n2\n</tool_response>')
  })

  test('a stream holds back only what may be a call', () => {
    const holder = new CallHolder('hermes')
    expect(
      ['a < b <to', 'ol', ' <tool_', 'call>{"name": "x", "arguments": {}}</tool_call> bye'].map(one =>
        holder.push(one),
      ),
    ).toEqual(['a < b ', '', '<tool ', ''])
    expect(holder.end()).toMatchObject({ calls: [{ function: { name: 'x', arguments: '{}' } }] })
  })
})

describe('recorded sessions', () => {
  const key = 'server-key'
  const auth = (token: string, more: object = {}) => ({ headers: { authorization: `Bearer ${token}`, ...more } })
  const opened = async (port: number, body: object = {}) =>
    JSON.parse((await send(port, '/v1/sessions', body, auth(key))).text) as { id: string; key: string }

  test('the calls of a session become its episode; weights that change are in it', async () => {
    const file = fresh('episodes.jsonl')
    const turns = ['<tool_call>{"name": "add", "arguments": {"a": 1}}</tool_call>', 'Two.']
    const world = await serverOf('qwen2_5', turns, { apiKey: key, record: { file } })
    const { server, client, engine, prompts, released } = world
    const session = await opened(server.port, { turns: 4 })
    const messages = [user('What?')]
    const own = client(session.key)
    const first = await own.chat.completions.create({ model: 'tiny', messages, tools, temperature: 0.5 })
    const { message } = first.choices[0]!
    expect(first.choices[0]!.finish_reason).toBe('tool_calls')
    messages.push(message, { role: 'tool', tool_call_id: message.tool_calls![0]!.id, content: '2' })
    await engine.updateWeights({ version: 7 } as never)
    // The other way: the server's key, and the session in a header.
    await client(key, { 'x-whetstone-session': session.id }).chat.completions.create({ model: 'tiny', messages, tools })
    const ended = await send(server.port, `/v1/sessions/${session.id}/end`, { reward: 0.5 }, auth(session.key))
    const episode = JSON.parse(ended.text)
    expect(episode).toMatchObject({ object: 'episode', kind: 'finished', reward: 0.5, side_calls: 0 })
    expect(episode.turns.map((turn: { segment: number }) => turn.segment)).toEqual([0, 0])
    expect(episode.turns.map((turn: { versions: { version: number }[] }) => turn.versions[0]!.version)).toEqual([0, 7])
    const [one, two] = episode.turns
    expect([...prompts[1]!]).toEqual([...one.observation_ids, ...one.sampled_ids, ...two.observation_ids])
    expect(one.logprobs.raw).toHaveLength(one.sampled_ids.length)
    expect(jsonLines(file)).toEqual([episode])
    expect(released).toHaveLength(1)
    // The session is over.
    const late = { model: 'tiny', messages }
    expect((await send(server.port, '/v1/chat/completions', late, auth(session.key))).status).toBe(401)
    expect((await send(server.port, `/v1/sessions/${session.id}/end`, {}, auth(key))).status).toBe(404)
  })

  test('keys, limits and idle sessions', async () => {
    const world = await serverOf('qwen2_5', ['One.'], { apiKey: key, record: { maxSessions: 1, idleSeconds: 0.3 } })
    const { port } = world.server
    const session = await opened(port)
    const statuses = await Promise.all([
      send(port, '/v1/sessions', {}),
      send(port, '/v1/sessions', {}, auth(key)),
      send(port, '/v1/sessions', {}, auth(session.key)),
      send(port, '/v1/completions', { prompt: 'x' }, auth(session.key)),
      send(port, '/v1/chat/completions', { messages: [user('x')] }, auth(key, { 'x-whetstone-session': 'other' })),
      send(port, '/v1/sessions/other/end', {}, auth(session.key)),
      send(port, '/v1/models', undefined, auth(session.key)),
    ])
    expect(statuses.map(({ status }) => status)).toEqual([401, 429, 403, 403, 404, 403, 200])
    // Without a request for a while, its place is free again.
    const again = async () => (await send(port, '/v1/sessions', {}, auth(key))).status
    let status = 0
    await until(() => {
      void again().then(one => (status = status === 200 ? 200 : one))
      return status === 200
    })
    await expect(
      ModelServer.start({ engine: world.engine, tokenizer: world.tokenizer, name: 't', port: 0, record: {} }),
    ).rejects.toThrow('record needs an API key')
    const plain = await serverOf('qwen2_5', ['One.'])
    const header = { headers: { 'x-whetstone-session': 'x' } }
    const refused = await send(plain.server.port, '/v1/chat/completions', { messages: [user('x')] }, header)
    expect(refused).toMatchObject({ status: 400, text: expect.stringContaining('--record') })
  })
})
