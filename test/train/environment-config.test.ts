/** Environments and tools that a config describes. */
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import { environmentPart } from '../../src/api/environment-part.js'
import { environmentShape, loadEnvironment } from '../../src/train/index.js'
import { observation, openEnvDouble } from '../support/doubles/openenv-server.js'

const server = fileURLToPath(new URL('../environment/children/mcp-server.mjs', import.meta.url))
const { environment, tools } = environmentShape

test('tools of MCP servers beside others, in the order of the list; closed with the environment', async () => {
  const given = tools.parse([
    { mcp: { command: [process.execPath, server], tools: ['add'], effect: 'pure' } },
    'calculator',
  ])
  const loaded = await loadEnvironment({ tools: given })
  expect(loaded!.tools!.map(({ name, effect }) => [name, effect])).toEqual([
    ['add', 'pure'],
    ['calculator', 'pure'],
  ])
  await loaded!.close!()
})

test('an OpenEnv server and an agent', async () => {
  const { url } = await openEnvDouble(() => () => observation({ prompt: 'Go.' }))
  const asked = environment.parse({ type: 'openenv', url, rewards: 'delta', action: 'message' })
  expect(await loadEnvironment({ environment: asked })).toMatchObject({
    name: expect.stringContaining('openenv'),
    tools: [],
  })
  const agent = environment.parse({ type: 'agent', command: ['agent'], version: '2' })
  expect(await loadEnvironment({ environment: agent })).toMatchObject({ name: 'agent', version: '2' })
})

test('what is wrong is said before work starts, and no secret is in a config', async () => {
  const problem = (value: unknown): string => JSON.stringify(environment.safeParse(value).error?.issues ?? '')
  expect(problem({ type: 'openenv', url: 'http://a' })).toContain('rewards')
  expect(problem({ type: 'openenv', url: 'http://me:secret@a', rewards: 'last' })).toContain('a user or a password')
  expect(problem({ type: 'agent', command: [] })).not.toBe('""')
  const tool = (value: unknown): string => JSON.stringify(tools.safeParse([value]).error?.issues ?? '')
  expect(tool({ mcp: {} })).toContain('give either command or url')
  expect(tool({ mcp: { url: 'https://me:secret@a' } })).toContain('apiKeyEnv')
  const unset = tools.parse([{ mcp: { url: 'http://127.0.0.1:9', apiKeyEnv: 'NO_SUCH_KEY' } }])
  await expect(loadEnvironment({ tools: unset })).rejects.toThrow('the environment variable NO_SUCH_KEY is not set')
  const gone = tools.parse([{ mcp: { url: 'http://127.0.0.1:9', seconds: 5 } }])
  await expect(loadEnvironment({ tools: gone })).rejects.toThrow('cannot be used')
  // Names of a config stay for the config to read.
  const values = { tools: ['calculator', { mcp: { command: ['x'] } }], environment: { type: 'agent', command: ['x'] } }
  expect(environmentPart(values)).toBeUndefined()
})
