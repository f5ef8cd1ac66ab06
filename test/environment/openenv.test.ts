import { expect, test } from 'vitest'
import { EnvironmentError, type OpenEnvOptions, openEnvironment, type Session } from '../../src/environment/index.js'
import { type Answer, observation, openEnvDouble } from '../support/doubles/openenv-server.js'
import { familyTokenizer, scriptedEpisode } from '../support/episodes.js'

const { signal } = new AbortController()
const key = { promptId: 'row', sample: 0, attempt: 0, seed: 7 }
const task = { row: { level: 3 }, messages: [], label: undefined, target: undefined }
const turn = (text: string) => ({ text, reasoning: undefined, calls: [], results: [], turn: 0 })

/** Guess a number below 10: answers with higher or lower. */
function guessing(): (type: string, data: Readonly<Record<string, unknown>>) => Answer {
  let total = 0
  return (type, { guess }) => {
    if (type === 'reset') return observation({ prompt: 'Guess.' })
    total += guess === '4' ? 1 : -0.25
    return observation({ prompt: Number(guess) < 4 ? 'higher' : 'lower' }, { reward: total, done: guess === '4' })
  }
}

async function opened(url: string, options: Partial<OpenEnvOptions> = {}, within = signal): Promise<Session> {
  const environment = await openEnvironment({ url, rewards: 'delta', action: 'guess', ...options })
  return environment.open(task, { ...key, signal: within })
}

test.each([
  ['delta', [-0.25, -0.5, 0.5], undefined],
  ['cumulative', [-0.25, -0.25, 1], undefined],
  ['last', [undefined, undefined, undefined], 0.5],
] as const)('an episode of text, with rewards that are %s', async (rewards, expected, score) => {
  const double = await openEnvDouble(guessing)
  const session = await opened(double.url, { rewards, reset: ['level'] })
  expect(await session.start(signal)).toEqual([{ role: 'user', content: 'Guess.' }])
  const steps = []
  for (const guess of ['2', '7', '4']) steps.push(await session.step(turn(guess), signal))
  expect(steps.map(({ kind }) => kind)).toEqual(['go-on', 'go-on', 'done'])
  expect(steps[0]).toMatchObject({ messages: [{ role: 'user', content: 'higher' }] })
  expect(steps.map(({ reward }) => reward)).toEqual(expected)
  expect(await session.score?.({} as never, signal)).toBe(score)
  await session.close?.()
  await session.close?.()
  expect(double.frames.find(({ type }) => type === 'reset')?.data).toEqual({ level: 3, seed: 7, episode_id: 'row/0/0' })
  await expect.poll(double.open).toBe(0)
})

function counting(): (type: string, data: Readonly<Record<string, unknown>>) => Answer {
  let count = 0
  const input_schema = { type: 'object', properties: { by: { type: 'integer' } }, required: ['by'] }
  return (type, data) => {
    if (type === 'reset') return observation({})
    if (data.type === 'list_tools')
      return observation({ tools: [{ name: 'count', description: 'Counts.', input_schema }] })
    const { by } = data.arguments as { by: number }
    if (by > 9)
      return observation({
        tool_name: 'count',
        result: null,
        error: { error_type: 'execution_error', message: 'too far' },
      })
    count += by
    return observation({ tool_name: 'count', result: { count } }, { reward: true, done: count >= 3 })
  }
}

test('the tools of a server: checked, called in their session, with rewards and the end of the episode', async () => {
  const double = await openEnvDouble(counting)
  const environment = await openEnvironment({ url: double.url, rewards: 'delta' })
  expect(environment.tools?.map(({ name, effect }) => [name, effect])).toEqual([['count', 'once']])
  const [one, other] = await Promise.all([1, 2].map(sample => environment.open(task, { ...key, sample, signal })))
  for (const session of [one!, other!]) expect(await session.start(signal)).toEqual([])
  const [count] = one!.tools!
  expect(count!.check({ by: 'two' })).toMatchObject({ kind: 'wrong', message: expect.stringContaining('by') })
  const call = { id: 'c', episode: key, signal }
  expect(await count!.run({ by: 1 }, call)).toEqual({ content: '{"count":1}' })
  expect(await count!.run({ by: 10 }, call)).toEqual({ content: 'too far', isError: true })
  expect(await one!.step(turn(''), signal)).toEqual({ kind: 'go-on', messages: [], reward: 1 })
  // Another session is another world.
  expect(await other!.tools![0]!.run({ by: 2 }, call)).toEqual({ content: '{"count":2}' })
  await count!.run({ by: 2 }, call)
  expect(await one!.step(turn(''), signal)).toEqual({ kind: 'done', reward: 1 })
  await Promise.all([one!.close?.(), other!.close?.()])
})

test('calls of a turn that may run at the same time share one socket, one after another', async () => {
  const double = await openEnvDouble(counting)
  const environment = await openEnvironment({ url: double.url, rewards: 'delta', effect: 'pure' })
  const calls = [1, 10, 2].map(by => `<tool_call>\n{"name": "count", "arguments": {"by": ${by}}}\n</tool_call>`)
  const messages = [{ role: 'user', content: 'Count.' }]
  const tokenizer = await familyTokenizer('qwen2_5')
  const { outcome } = await scriptedEpisode({ tokenizer, environment, messages, turns: [calls.join('')] })
  expect(outcome).toMatchObject({ kind: 'finished', episode: { stop: 'done', reward: 2, key: { attempt: 0 } } })
})

test('a server that is away in the middle of a run is waited for, and the end of the waiting says why', async () => {
  const double = await openEnvDouble(guessing)
  const environment = await openEnvironment({ url: double.url, rewards: 'delta', action: 'guess' })
  await double.stop()
  const opening = environment.open(task, { ...key, signal })
  await double.start()
  await (await opening).close?.()
  await double.stop()
  const tokenizer = await familyTokenizer('qwen2_5')
  const limits = { retries: 0, openSeconds: 0.1 }
  const { outcome } = await scriptedEpisode({ tokenizer, environment, turns: [], limits })
  const message = expect.stringMatching(/no answer within 0\.1 seconds: the server is away/)
  expect(outcome).toMatchObject({ kind: 'failed', at: 'open', message })
})

test('a late answer is never taken for the next one: the socket is given up', async () => {
  const double = await openEnvDouble(() => type => (type === 'reset' ? observation({ prompt: 'go' }) : 'silence'))
  const session = await opened(double.url)
  await session.start(signal)
  const limited = new AbortController()
  const waiting = session.step(turn('2'), limited.signal)
  limited.abort(new Error('too late'))
  await expect(waiting).rejects.toThrow('too late')
  await expect(session.step(turn('3'), signal)).rejects.toThrow('the client closed the connection')
  await session.close?.()
})

test('a socket that drops in a step is a failed attempt, and its session is not joined again', async () => {
  const double = await openEnvDouble(() => type => (type === 'reset' ? observation({ prompt: 'go' }) : 'drop'))
  const environment = await openEnvironment({ url: double.url, rewards: 'delta', action: 'guess' })
  const tokenizer = await familyTokenizer('qwen2_5')
  const { outcome } = await scriptedEpisode({ tokenizer, environment, turns: ['1', '1'], limits: { retries: 1 } })
  const message = expect.stringContaining('closed the connection')
  expect(outcome).toMatchObject({ kind: 'failed', at: 'step', message, key: { attempt: 1 } })
  const resets = double.frames.filter(({ type }) => type === 'reset').map(({ data }) => data.episode_id)
  expect(resets).toEqual(['row/0/0', 'row/0/1'])
})

test.each([
  ['a number that is no JSON', '{"type":"observation","data":{"observation":{},"reward":NaN,"done":false}}', 'no JSON'],
  [
    'an environment that raised',
    { type: 'error', data: { code: 'EXECUTION_ERROR', message: 'boom' } },
    'EXECUTION_ERROR: boom',
  ],
  ['an answer of another shape', { type: 'observation', data: { done: 'yes' } }, 'done'],
] as const)('%s fails the step', async (_, answer, message) => {
  const double = await openEnvDouble(() => type => (type === 'reset' ? observation({ prompt: 'go' }) : answer))
  const session = await opened(double.url)
  await session.start(signal)
  await expect(session.step(turn('2'), signal)).rejects.toThrow(message)
  await session.close?.()
})

test('a full server is asked again; one that stays full says why', async () => {
  const double = await openEnvDouble(guessing, { room: 1 })
  const first = await opened(double.url)
  const second = opened(double.url)
  await first.close?.()
  await (await second).close?.()
  const held = await opened(double.url)
  const environment = await openEnvironment({ url: double.url, rewards: 'delta', action: 'guess' })
  const tokenizer = await familyTokenizer('qwen2_5')
  const limits = { retries: 0, openSeconds: 0.3 }
  const { outcome } = await scriptedEpisode({ tokenizer, environment, turns: [], limits })
  const message = expect.stringContaining('no room for another session, although no session of this run is open')
  expect(outcome).toMatchObject({ kind: 'failed', at: 'open', message })
  await held.close?.()
})

test('a server that is away, and options that are missing, are named before the first token', async () => {
  for (const action of ['tools', 'guess']) {
    const opening = openEnvironment({ url: 'http://127.0.0.1:9', rewards: 'delta', action })
    await expect(opening).rejects.toThrow(EnvironmentError)
    await expect(opening).rejects.toThrow(/away: no WebSocket server answers there\. Start it/)
  }
  await expect(openEnvironment({ url: 'http://127.0.0.1:9' } as never)).rejects.toThrow('rewards')
})
