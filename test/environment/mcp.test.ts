import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { EnvironmentError, type McpTools, mcpTools } from '../../src/environment/index.js'

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

test('a server that dies in a call is a fault', async () => {
  const dying = await mcpTools({ command })
  await expect(named(dying, 'die').run({}, call)).rejects.toThrow()
  await dying.close()
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
