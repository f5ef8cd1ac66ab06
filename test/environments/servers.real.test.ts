/** Real OpenEnv and MCP servers: episodes, tools, sockets that drop, late answers, full servers. */
import { type ChildProcess, spawn } from 'node:child_process'
import type { AddressInfo } from 'node:net'
import { createServer } from 'node:net'
import { fileURLToPath } from 'node:url'
import { afterAll, describe, expect, test } from 'vitest'
import { type EpisodeOutcome, mcpTools, openEnvironment, toolEnvironment } from '../../src/environment/index.js'
import { familyTokenizer, scriptedEpisode } from '../support/episodes.js'

const python = process.env.WHETSTONE_OPENENV_PYTHON!
const program = fileURLToPath(new URL('servers.py', import.meta.url))
const running: ChildProcess[] = []
afterAll(() => {
  for (const child of running) child.kill('SIGKILL')
})

async function freePort(): Promise<number> {
  const probe = createServer()
  await new Promise<void>(resolve => probe.listen(0, '127.0.0.1', resolve))
  const { port } = probe.address() as AddressInfo
  await new Promise(resolve => probe.close(resolve))
  return port
}

/** The address of a server of `servers.py`, once it answers. */
async function started(kind: string, room = 8): Promise<string> {
  const port = await freePort()
  const child = spawn(python, [program, kind, String(port), String(room)], { stdio: ['ignore', 'inherit', 'inherit'] })
  running.push(child)
  const url = `http://127.0.0.1:${port}`
  const path = kind === 'mcp-http' ? '/mcp' : '/health'
  await expect
    .poll(
      () =>
        fetch(url + path).then(
          () => true,
          () => false,
        ),
      { timeout: 120_000, interval: 300 },
    )
    .toBe(true)
  return url
}

const tokenizer = await familyTokenizer('qwen2_5')
const messages = [{ role: 'user', content: 'Play.' }]
const call = (name: string, given: object): string =>
  `<tool_call>\n${JSON.stringify({ name, arguments: given })}\n</tool_call>`
function episodeOf(outcome: EpisodeOutcome) {
  if (!('episode' in outcome)) throw new Error(JSON.stringify(outcome))
  return outcome.episode
}
const seen = (outcome: EpisodeOutcome): string[] =>
  episodeOf(outcome).turns.flatMap(({ messages: added }) => added.map(({ content }) => String(content)))

describe('OpenEnv', () => {
  const options = { rewards: 'delta', action: 'message', show: 'prompt' } as const

  test('a game over several turns; each socket is its own environment', async () => {
    const url = await started('guess')
    const environment = await openEnvironment({ url, ...options })
    const turns = ['0', '1', '2', '3', '4', '5', '6', '7', '8', '9']
    const play = () => scriptedEpisode({ tokenizer, environment, turns, messages })
    const [first, second] = await Promise.all([play(), play()])
    for (const { outcome } of [first, second]) {
      expect(outcome).toMatchObject({ kind: 'finished', episode: { stop: 'done' } })
      const wrong = episodeOf(outcome).turns.length - 1
      expect(episodeOf(outcome).reward).toBeCloseTo(1 - 0.1 * wrong)
      expect(seen(outcome)).toEqual(['Play.', 'Guess from 0 to 9.', ...Array(wrong).fill('Higher.')])
    }
    expect(episodeOf(first.outcome).turns).toHaveLength(episodeOf(second.outcome).turns.length)
  })

  test('an environment that raises, a server that dies, an answer that comes late: failed, never a reward', async () => {
    const url = await started('guess')
    const environment = await openEnvironment({ url, ...options })
    const play = (turn: string, openSeconds = 60) => {
      const limits = { retries: 0, stepSeconds: 1, openSeconds }
      return scriptedEpisode({ tokenizer, environment, turns: [turn], messages, limits })
    }
    expect((await play('crash')).outcome).toMatchObject({
      kind: 'failed',
      at: 'step',
      message: expect.stringMatching(/EXECUTION_ERROR|world ended/),
    })
    expect((await play('sleep')).outcome).toMatchObject({ kind: 'failed', at: 'step' })
    expect((await play('exit')).outcome).toMatchObject({ kind: 'failed', at: 'step' })
    // Nothing listens there any more.
    const away = expect.stringContaining('the server is away')
    expect((await play('0', 2)).outcome).toMatchObject({ kind: 'failed', at: 'open', message: away })
  })

  test('a full server is asked again until a place is free', async () => {
    const url = await started('guess', 1)
    const environment = await openEnvironment({ url, ...options })
    const turns = ['0', '1', '2', '3', '4', '5', '6', '7', '8', '9']
    const played = await Promise.all(
      Array.from({ length: 3 }, () => scriptedEpisode({ tokenizer, environment, turns, messages })),
    )
    for (const { outcome } of played) expect(outcome.kind).toBe('finished')
    const holder = await environment.open(
      { row: {}, messages, label: undefined, target: undefined },
      { promptId: 'p', sample: 0, attempt: 0, seed: 1, signal: new AbortController().signal },
    )
    const full = await scriptedEpisode({
      tokenizer,
      environment,
      turns,
      messages,
      limits: { retries: 0, openSeconds: 2 },
    })
    const message = expect.stringContaining('no room for another session')
    expect(full.outcome).toMatchObject({ kind: 'failed', at: 'open', message })
    await holder.close?.()
  })

  test('tools of a server', async () => {
    const environment = await openEnvironment({ url: await started('shop'), rewards: 'last', effect: 'pure' })
    expect(environment.tools!.map(({ name }) => name)).toEqual(['price', 'slow'])
    const turns = [call('price', { item: 'pear' }), call('price', { item: 'house' }), 'Three.']
    const { outcome } = await scriptedEpisode({ tokenizer, environment, turns, messages })
    expect(outcome.kind).toBe('finished')
    expect(seen(outcome).slice(-2)).toEqual([expect.stringContaining('3'), expect.stringContaining('no house here')])
  })
})

describe('MCP', () => {
  test.each(['stdio', 'http'])('tools over %s: results, errors, a call that takes too long', async kind => {
    const place =
      kind === 'stdio'
        ? { command: [python, program, 'mcp-stdio'] as [string, ...string[]] }
        : { url: `${await started('mcp-http')}/mcp` }
    const server = await mcpTools({ ...place, effect: 'pure', seconds: 100 })
    try {
      expect(server.tools.map(({ name }) => name)).toEqual(['price', 'slow'])
      const environment = toolEnvironment({ tools: server.tools, reward: () => 1 })
      const turns = [call('price', { item: 'apple' }), call('price', { item: 7 }), call('price', { item: 'x' }), 'Two.']
      const { outcome } = await scriptedEpisode({ tokenizer, environment, turns, messages })
      expect(seen(outcome).slice(1)).toEqual([
        '2',
        expect.stringMatching(/^Error: item/),
        expect.stringContaining('no x here'),
      ])
      const late = await mcpTools({ ...place, effect: 'pure', seconds: 25 })
      const limits = { retries: 0 }
      const slow = { tokenizer, messages, limits, turns: [call('slow', { seconds: 60 })] }
      const given = await scriptedEpisode({ ...slow, environment: toolEnvironment({ tools: late.tools }) })
      expect(given.outcome).toMatchObject({ kind: 'failed', at: 'tool' })
      await late.close()
    } finally {
      await server.close()
    }
  })
})
