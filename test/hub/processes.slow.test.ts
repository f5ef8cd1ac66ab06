/** Real processes on one cache: Ctrl-C in the middle of a download, and two that want the same model at once. */
import { randomBytes } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, expect, test } from 'vitest'
import { startWhetstone } from '../support/child.js'
import { type Files, HubServer } from '../support/doubles/hub-server.js'
import { fresh, jsonl, temporaryDirectory } from '../support/files.js'
import { modelDirectory } from '../support/rl.js'

const hub = await HubServer.start()
const source = await modelDirectory(1)
const files: Files = {
  ...Object.fromEntries(readdirSync(source).map(name => [name, readFileSync(join(source, name))])),
  // A content of some size that nobody reads: the download takes a while.
  'model-00002-of-00002.safetensors': randomBytes(600_000),
}
const data = jsonl(Array.from({ length: 4 }, (_, i) => ({ prompt: `Question ${i}:`, completion: ' aeiou' })))

beforeEach(() => {
  hub.speed = Number.POSITIVE_INFINITY
  hub.asked.length = 0
})

const ranges = (): (string | undefined)[] => hub.asked.filter(({ host }) => host === 'cdn').map(({ range }) => range)
/** Sizes of contents that are not whole yet. */
function parts(home: string, name: string): number[] {
  const folder = join(home, `hub/models--org--${name}/blobs`)
  const names = existsSync(folder) ? readdirSync(folder).filter(one => one.endsWith('.incomplete')) : []
  return names.map(one => statSync(join(folder, one)).size).filter(size => size > 0)
}

const commands = {
  chat: (model: string) => [
    'chat',
    '--model',
    model,
    '--device',
    'cpu',
    '--chat-template',
    'chatml',
    '--max-new-tokens',
    '2',
  ],
  serve: (model: string) => ['serve', '--model', model, '--device', 'cpu', '--port', '0'],
  sft: (model: string) => [
    ...['sft', '--model', model, '--data', data, '--output', fresh('run'), '--device', 'cpu'],
    ...['--chat-template', 'none', '--batch-size', '4'],
  ],
} as const

test.each(Object.entries(commands))(
  '%s: Ctrl-C keeps what was fetched, and the next start goes on from there',
  async (name, command) => {
    hub.add(`models/org/${name}`, files)
    const home = temporaryDirectory()
    const env = hub.env(home)
    hub.speed = 100_000
    const first = startWhetstone(command(`org/${name}`), { env })
    await first.waitFor(/Fetching org\/\w+ at commit/)
    await until(() => parts(home, name).length > 0)
    const stopped = await first.kill('SIGINT')
    expect({ code: stopped.code, output: stopped.output }).toEqual({
      code: 130,
      output: expect.stringContaining('Interrupted'),
    })
    expect(stopped.stderr).not.toMatch(/whetstone:|at .*\.js:\d+/)
    expect(existsSync(join(home, `hub/models--org--${name}/snapshots`))).toBe(false)
    expect(parts(home, name).length).toBeGreaterThan(0)

    hub.speed = Number.POSITIVE_INFINITY
    hub.asked.length = 0
    const second = startWhetstone(command(`org/${name}`), { env })
    if (name === 'chat') second.process.stdin.end('Hi\n')
    if (name === 'serve') {
      await second.waitFor(/org\/serve at http/)
      second.process.kill('SIGTERM')
    }
    expect(await second.ended).toMatchObject({ code: 0 })
    // Any content, also one that the Hub itself sends.
    expect(hub.asked.some(({ range }) => /^bytes=[1-9]/.test(range ?? ''))).toBe(true)
    expect(parts(home, name)).toEqual([])
  },
)

async function until(done: () => boolean): Promise<void> {
  while (!done()) await new Promise(resolve => setTimeout(resolve, 20))
}

test('two processes fetch each file once, and both have the whole', async () => {
  hub.add('models/org/twice', files)
  const home = temporaryDirectory()
  hub.speed = 400_000
  const both = [0, 1].map(() => startWhetstone(['download', 'org/twice'], { env: hub.env(home) }))
  const [first, second] = await Promise.all(both.map(({ ended }) => ended))
  expect([first!.code, second!.code]).toEqual([0, 0])
  expect(first!.stdout).toBe(second!.stdout)
  const large = Object.keys(files).filter(name => name.endsWith('.safetensors'))
  expect(ranges()).toEqual(large.map(() => undefined))
  const directory = first!.stdout.trim()
  for (const [name, content] of Object.entries(files))
    expect(readFileSync(join(directory, name)).equals(content as Buffer), name).toBe(true)
})
