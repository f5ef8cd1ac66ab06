/** Agents with the official client against the recorder: tools, streams, retries, faults, two at a time. */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import OpenAI from 'openai'
import { afterAll, describe, expect, test } from 'vitest'
import type { Environment, EpisodeOutcome } from '../../src/environment/index.js'
import { type AgentRun, agentEnvironment } from '../../src/serve/index.js'
import { runProgram } from '../../src/serve/recorder/agent-program.js'
import { familyTokenizer, scriptedEpisode } from '../support/episodes.js'
import { temporaryDirectory } from '../support/files.js'
import { send, until } from '../support/serve.js'

const tokenizer = await familyTokenizer('qwen2_5')
const opened: Environment[] = []
afterAll(() => Promise.all(opened.map(one => one.close?.())))

type Message = OpenAI.ChatCompletionMessageParam
const tools: OpenAI.ChatCompletionTool[] = [
  { type: 'function', function: { name: 'add', description: 'Adds.', parameters: { type: 'object', properties: {} } } },
]
const call = (name: string, given: object): string =>
  `<tool_call>\n${JSON.stringify({ name, arguments: given })}\n</tool_call>`
const user = (content: string): Message => ({ role: 'user', content })
const clientOf = ({ baseUrl: baseURL, apiKey }: AgentRun, maxRetries = 0): OpenAI =>
  new OpenAI({ baseURL, apiKey, maxRetries })

function agentOf(run: (agent: AgentRun) => Promise<{ reward?: number } | undefined>): Environment {
  const environment = agentEnvironment({ run })
  opened.push(environment)
  return environment
}

function episodeOf(outcome: EpisodeOutcome) {
  if (!('episode' in outcome)) throw new Error(JSON.stringify(outcome))
  return outcome.episode
}
const texts = (outcome: EpisodeOutcome): string[] => episodeOf(outcome).turns.map(({ text }) => text)

describe('the official client', () => {
  test('tools in, tool_calls out, results back: one segment, plain and streamed alike', async () => {
    const turns = [`Let me see.\n${call('add', { a: 1, b: 2 })}${call('add', { a: 3, b: 4 })}`, 'It is 10.']
    const run = (stream: boolean) => async (agent: AgentRun) => {
      const client = clientOf(agent)
      const messages: Message[] = [user('What?')]
      const ask = async (): Promise<OpenAI.ChatCompletion> =>
        stream
          ? client.chat.completions
              .stream({ model: 'any', messages, tools, stream_options: { include_usage: true } })
              .finalChatCompletion()
          : client.chat.completions.create({ model: 'any', messages, tools })
      const first = await ask()
      const { message, finish_reason } = first.choices[0]!
      expect(finish_reason).toBe('tool_calls')
      expect(message.content).toBe('Let me see.')
      const called = message.tool_calls as OpenAI.ChatCompletionMessageFunctionToolCall[]
      expect(called.map(({ type, function: { name, arguments: text } }) => [type, name, JSON.parse(text)])).toEqual([
        ['function', 'add', { a: 1, b: 2 }],
        ['function', 'add', { a: 3, b: 4 }],
      ])
      messages.push(message)
      for (const { id } of called) messages.push({ role: 'tool', tool_call_id: id, content: '5' })
      const last = await ask()
      expect(last.choices[0]).toMatchObject({ finish_reason: 'stop', message: { content: 'It is 10.' } })
      expect(last.usage!.prompt_tokens).toBeGreaterThan(first.usage!.total_tokens)
      return { reward: 1 }
    }
    const outcomes: EpisodeOutcome[] = []
    for (const stream of [false, true]) {
      const { outcome } = await scriptedEpisode({ tokenizer, environment: agentOf(run(stream)), turns })
      expect(outcome).toMatchObject({ kind: 'finished', episode: { reward: 1, sideCalls: 0 } })
      expect(episodeOf(outcome).turns.map(({ segment, calls }) => [segment, calls.length])).toEqual([
        [0, 2],
        [0, 0],
      ])
      outcomes.push(outcome)
    }
    expect(outcomes[1]).toEqual(outcomes[0])
  })

  test('n, stop, tool_choice none, refusals and limits', async () => {
    const environment = agentOf(async agent => {
      const client = clientOf(agent)
      const two = await client.chat.completions.create({
        model: 'm',
        messages: [user('What?')],
        n: 2,
        tools,
        tool_choice: 'none',
      })
      expect(two.choices.map(({ message }) => message.content)).toEqual(['One.', 'Two.'])
      const create = (body: object) => client.chat.completions.create({ model: 'm', messages: [user('x')], ...body })
      await expect(create({ logprobs: true })).rejects.toMatchObject({ status: 400 })
      await expect(create({ tool_choice: 'required' })).rejects.toMatchObject({ status: 400 })
      await expect(create({ temprature: 1 })).rejects.toThrow(/did you mean temperature/)
      await expect(create({ n: 99 })).rejects.toMatchObject({ status: 400 })
      await expect(create({ messages: [], stream: true })).rejects.toMatchObject({ status: 400 })
      const messages: Message[] = [user('What?'), two.choices[1]!.message, user('More.')]
      await client.chat.completions.create({ model: 'm', messages, max_tokens: 2 })
      const next = await client.chat.completions.create({ model: 'm', messages: [user('y')] }).catch(error => error)
      expect(next).toMatchObject({ status: 400, type: 'EpisodeLimitError' })
      return undefined
    })
    const { outcome } = await scriptedEpisode({
      tokenizer,
      environment,
      turns: ['One.', 'Two.', 'Three four five.'],
      maxNewTokens: 8,
    })
    expect(outcome).toMatchObject({ kind: 'truncated', episode: { stop: 'sampled-tokens' } })
    expect(texts(outcome)[0]).toBe('Two.')
    expect(episodeOf(outcome).turns[1]!.completion).toMatchObject({ finishReason: 'length' })
  })

  test('a client that goes away and comes back; a lost answer is sampled once', async () => {
    const environment = agentOf(async agent => {
      const client = clientOf(agent)
      const leaving = new AbortController()
      const { policy } = agent
      const chat = policy.chat.bind(policy)
      const asked = new Promise<void>(resolve => {
        policy.chat = (...given) => {
          resolve()
          return chat(...given)
        }
      })
      const gone = client.chat.completions.create({ model: 'm', messages: [user('What?')] }, { signal: leaving.signal })
      gone.catch(() => {})
      await asked
      setTimeout(() => leaving.abort(), 200)
      await expect(gone).rejects.toThrow()
      const first = await client.chat.completions.create({ model: 'm', messages: [user('What?')] })
      // As the client's own retries say it.
      const headers = { 'X-Stainless-Retry-Count': '1' }
      const again = await client.chat.completions.create({ model: 'm', messages: [user('What?')] }, { headers })
      expect(again.choices).toEqual(first.choices)
      const messages: Message[] = [user('What?'), first.choices[0]!.message, user('Go on.')]
      await client.chat.completions.create({ model: 'm', messages })
      return { reward: 1 }
    })
    const long = { maxLength: 1_000_000, maxNewTokens: 900_000 }
    const endless = 'word '.repeat(100_000)
    const { outcome, prompts } = await scriptedEpisode({
      tokenizer,
      environment,
      turns: [endless, 'One.', 'Two.'],
      ...long,
    })
    expect(texts(outcome)).toEqual(['One.', 'Two.'])
    expect(prompts).toHaveLength(3)
  })
})

describe('keys', () => {
  test('a key opens its own session, until the episode ends', async () => {
    const keys: AgentRun[] = []
    const environment = agentOf(async agent => {
      keys.push(agent)
      await clientOf(agent).chat.completions.create({ model: 'm', messages: [user('What?')] })
      if (keys.length === 2) {
        const port = Number(new URL(agent.baseUrl).port)
        const body = { messages: [user('x')] }
        const headers = (key: string, more: object = {}) => ({ headers: { authorization: `Bearer ${key}`, ...more } })
        const statuses = await Promise.all([
          send(port, '/v1/chat/completions', body),
          send(port, '/v1/chat/completions', body, headers('sk-guess')),
          send(port, '/v1/chat/completions', body, headers(keys[0]!.apiKey)),
          send(port, '/v1/chat/completions', body, headers(agent.apiKey, { 'x-whetstone-session': 'other' })),
          send(port, new URL(keys[0]!.endUrl).pathname, { reward: 9 }, headers(agent.apiKey)),
          send(port, new URL(agent.endUrl).pathname, { reward: 'much' }, headers(agent.apiKey)),
          send(port, '/v1/models', undefined, headers(agent.apiKey)),
          send(port, '/v1/chat/completions', body, headers(agent.apiKey, { host: 'evil.example' })),
        ])
        expect(statuses.map(({ status }) => status)).toEqual([401, 401, 401, 403, 404, 400, 200, 403])
      }
      return undefined
    })
    for (let i = 0; i < 2; i++) await scriptedEpisode({ tokenizer, environment, turns: ['One.'] })
    expect(keys).toHaveLength(2)
  })

  test('two agents at once, each with calls in parallel, keep apart', async () => {
    const environment = agentOf(async agent => {
      const client = clientOf(agent)
      const name = String(agent.task.row.name)
      const messages: Message[] = [user(name)]
      const [main] = await Promise.all([
        client.chat.completions.create({ model: 'm', messages, tools }),
        ...Array.from({ length: 4 }, (_, i) =>
          client.chat.completions.create({ model: 'm', messages: [user(`title ${i}`)] }),
        ),
      ])
      messages.push(main.choices[0]!.message, user(`${name} again`))
      await client.chat.completions.create({ model: 'm', messages, tools })
      return { reward: name === 'a' ? 1 : 2 }
    })
    const run = (name: string) =>
      scriptedEpisode({ tokenizer, environment, turns: Array(6).fill(`I am ${name}.`), row: { name } })
    const [a, b] = await Promise.all([run('a'), run('b')])
    for (const [{ outcome }, name, reward] of [
      [a, 'a', 1],
      [b, 'b', 2],
    ] as const) {
      expect(outcome).toMatchObject({ episode: { reward, sideCalls: 4 } })
      expect(texts(outcome)).toEqual([`I am ${name}.`, `I am ${name}.`])
      expect(episodeOf(outcome).turns[0]!.messages).toEqual([user(name)])
    }
  })
})

describe('programs', () => {
  const program = fileURLToPath(new URL('children/agent.mjs', import.meta.url))
  const row = { question: 'What is 1 + 2?', answer: '3' }
  const programOf = (fault: string): Environment => {
    const environment = agentEnvironment({ command: [process.execPath, program], env: { AGENT_FAULT: fault } })
    opened.push(environment)
    return environment
  }
  test('a program with the official client gives the episode and its reward; the same as a tool environment', async () => {
    const turns = [call('add', { a: 1, b: 2 }), 'It is 3.']
    const { outcome } = await scriptedEpisode({ tokenizer, environment: programOf(''), turns, row })
    expect(outcome).toMatchObject({ kind: 'finished', episode: { stop: 'done', reward: 1, sideCalls: 0 } })
    expect(texts(outcome)).toEqual(['', 'It is 3.'])
  })

  test('a program that crashes or cannot start is a failed attempt with its last words', async () => {
    const limits = { retries: 0 }
    const missing = agentEnvironment({ command: ['no-such-program'] })
    opened.push(missing)
    const [crashed, unstarted] = await Promise.all([
      scriptedEpisode({ tokenizer, environment: programOf('crash'), turns: [], row, limits }),
      scriptedEpisode({ tokenizer, environment: missing, turns: [], row, limits }),
    ])
    const words = expect.stringContaining('the agent broke')
    expect(crashed.outcome).toMatchObject({ kind: 'failed', at: 'step', message: words })
    expect(unstarted.outcome).toMatchObject({ kind: 'failed', message: expect.stringContaining('cannot be started') })
  })

  test('however many run at a time, one listener waits for the end of this process', async () => {
    const before = process.listenerCount('exit')
    const { signal } = new AbortController()
    const running = Array.from({ length: 12 }, () =>
      runProgram({ command: ['sleep', '0.1'], env: {}, input: '' }, signal),
    )
    expect(process.listenerCount('exit')).toBe(before + 1)
    await Promise.all(running)
    expect(process.listenerCount('exit')).toBe(before)
  })

  test('a program that hangs is ended with all that it started', async () => {
    const file = join(temporaryDirectory(), 'pid')
    const script = `const c = require('child_process').spawn('sleep', ['600'])
      require('fs').writeFileSync(${JSON.stringify(file)}, String(c.pid))
      process.on('SIGTERM', () => {})
      setInterval(() => {}, 1000)`
    const stop = new AbortController()
    const running = runProgram({ command: [process.execPath, '-e', script], env: {}, input: '' }, stop.signal)
    running.catch(() => {})
    await until(() => existsSync(file) && readFileSync(file, 'utf8') !== '')
    stop.abort(new Error('enough'))
    await expect(running).rejects.toThrow('enough')
    const child = Number(readFileSync(file, 'utf8'))
    // Ended, or still to be taken off the list of processes.
    await until(() => !existsSync(`/proc/${child}`) || / Z /.test(readFileSync(`/proc/${child}/stat`, 'utf8')))
  })
})
