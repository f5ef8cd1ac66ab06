import { writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { EnvironmentError, type McpTools, mcpTools } from '../../src/environment/index.js'
import { McpHttpDouble, said } from '../support/doubles/mcp-http-server.js'
import { fresh } from '../support/files.js'

const program = fileURLToPath(new URL('./children/mcp-server.mjs', import.meta.url))
const command: [string, ...string[]] = [process.execPath, program]
const call = { id: 'c', episode: { promptId: 'row', sample: 0, attempt: 0 }, signal: new AbortController().signal }
const named = ({ tools }: McpTools, name: string) => tools.find(tool => tool.name === name)!
const isAlive = (pid: number): boolean => {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}

let server: McpTools
beforeAll(async () => {
  server = await mcpTools({ command, effect: 'pure' })
})
afterAll(() => server.close())

test('tools of a real server: schemas, checks, results, errors that the model sees', async () => {
  expect(server.tools.map(({ name }) => name)).toEqual(['add', 'fail', 'wait', 'die'])
  const add = named(server, 'add')
  expect(add).toMatchObject({ effect: 'pure', description: 'Adds two numbers.', parameters: { type: 'object' } })
  expect(add.check({ a: 1 })).toMatchObject({ kind: 'wrong', message: expect.stringContaining('b') })
  expect(await add.run({ a: 1, b: 2 }, call)).toEqual({ content: '3' })
  expect(await named(server, 'fail').run({}, call)).toEqual({ content: 'no such file', isError: true })
})

test('a call that never ends is given up with its signal', async () => {
  const limited = new AbortController()
  const waiting = named(server, 'wait').run({}, { ...call, signal: limited.signal })
  limited.abort(new Error('enough'))
  await expect(waiting).rejects.toThrow('enough')
  expect(await named(server, 'add').run({ a: 2, b: 2 }, call)).toEqual({ content: '4' })
})

test('the same tools have the same version; others, or fewer, another one', async () => {
  const again = await mcpTools({ command })
  const fewer = await mcpTools({ command, tools: ['add'] })
  expect(again.version).toBe(server.version)
  expect(fewer.tools).toHaveLength(1)
  expect(fewer.version).not.toBe(server.version)
  await Promise.all([again.close(), fewer.close()])
})

test('a server that dies in a call is a fault, and the next call starts it again', async () => {
  const listeners = process.listenerCount('exit')
  const dying = await mcpTools({ command })
  await expect(named(dying, 'die').run({}, call)).rejects.toThrow()
  const [one, two] = await Promise.all([1, 2].map(a => named(dying, 'add').run({ a, b: 0 }, call)))
  expect([one, two]).toEqual([{ content: '1' }, { content: '2' }])
  await dying.close()
  await expect(named(dying, 'add').run({ a: 1, b: 2 }, call)).rejects.toThrow('closed')
  expect(process.listenerCount('exit')).toBe(listeners)
})

test('a server that comes back with other tools is a fault', async () => {
  const more = fresh('more')
  const changing = await mcpTools({ command: [...command, '--more', more] })
  writeFileSync(more, '')
  await expect(named(changing, 'die').run({}, call)).rejects.toThrow()
  await expect(named(changing, 'add').run({ a: 1, b: 2 }, call)).rejects.toThrow('changed since the run started')
  await changing.close()
})

describe('a server behind HTTP', () => {
  const wrong = { error: { code: -32602, message: 'x must be above 3' } }
  const opened = (): Promise<McpHttpDouble> =>
    new McpHttpDouble(['a', 'b', 'c', 'd', 'e'], name => (name === 'b' ? wrong : said(name))).start()

  test('all pages of its tools, its key, mistakes of the model as answers, and the end of the session', async () => {
    const double = await opened()
    process.env.MCP_TEST_KEY = 'secret'
    const remote = await mcpTools({ url: double.url, apiKeyEnv: 'MCP_TEST_KEY' })
    expect(remote.tools.map(({ name }) => name)).toEqual(['a', 'b', 'c', 'd', 'e'])
    expect(await named(remote, 'e').run({}, call)).toEqual({ content: 'e' })
    expect(await named(remote, 'b').run({}, call)).toEqual({
      content: expect.stringMatching(/^Error: .*above 3/),
      isError: true,
    })
    await remote.close()
    expect(double.ended).toHaveLength(1)
    expect([...double.keys]).toEqual(['Bearer secret'])
  })

  test('one that is away is waited for, and forgets no tools', async () => {
    const double = await opened()
    const remote = await mcpTools({ url: double.url })
    await double.stop()
    await expect(named(remote, 'a').run({}, call)).rejects.toThrow()
    const away = named(remote, 'a').run({}, { ...call, signal: AbortSignal.timeout(100) })
    await expect(away).rejects.toThrow('the server is away')
    const waiting = named(remote, 'a').run({}, call)
    await double.start()
    expect(await waiting).toEqual({ content: 'a' })
    // A server that was started again knows no session.
    await double.stop()
    await double.start()
    await expect(named(remote, 'c').run({}, call)).rejects.toThrow()
    expect(await named(remote, 'c').run({}, call)).toEqual({ content: 'c' })
    double.tools = ['a']
    await double.stop()
    await double.start()
    await expect(named(remote, 'a').run({}, call)).rejects.toThrow()
    await expect(named(remote, 'a').run({}, call)).rejects.toThrow('changed since the run started')
    await remote.close()
  })
})

test('a server that ignores the end of its input ends with all its children', async () => {
  const staying = await mcpTools({ command: [...command, '--stay'] })
  const { content } = (await named(staying, 'pids').run({}, call)) as { content: string }
  const pids = content.split(' ').map(Number)
  expect(pids.map(isAlive)).toEqual([true, true])
  await staying.close()
  await expect.poll(() => pids.map(isAlive), { timeout: 10_000 }).toEqual([false, false])
})

test.each([
  ['a program that is not there', { command: ['no-such-program'] as [string] }, 'no-such-program'],
  [
    'a program that is no server',
    { command: [process.execPath, '-e', 'console.error("not me"); process.exit(1)'] },
    'not me',
  ],
  ['a tool that is not there', { command, tools: ['subtract'] }, 'has no tool subtract; it has add'],
] as const)('%s is named before the first token', async (_, options, message) => {
  const opening = mcpTools(options as Parameters<typeof mcpTools>[0])
  await expect(opening).rejects.toThrow(EnvironmentError)
  await expect(opening).rejects.toThrow(message)
})

test('command and url exclude each other', async () => {
  await expect(mcpTools({})).rejects.toThrow(/^mcpTools: give either command or url$/)
  // @ts-expect-error there is no such option
  const misspelt = mcpTools({ url: 'http://127.0.0.1:1', second: 0 })
  await expect(misspelt).rejects.toThrow('mcpTools: there is no option "second"; did you mean seconds?')
})
