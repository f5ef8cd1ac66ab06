// An episode whose tool never gives control back, under the watchdog.   node blocking.mjs DIST BRIDGE
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

const [, , dist, bridge] = process.argv
const load = file => import(pathToFileURL(join(dist, file)).href)
const { defineTool, Fault } = { ...(await load('environment/index.js')), ...(await load('environment/fault.js')) }
const { provideWatchdog } = await load('watchdog/index.js')
const { z } = await import('zod')
provideWatchdog(() => createRequire(import.meta.url)(bridge))
process.once('SIGINT', () => process.exit(5))

const spin = defineTool({
  name: 'spin',
  description: 'Never ends.',
  input: z.object({}),
  run: () => {
    console.log('begun')
    for (;;);
  },
})
const { signal } = new AbortController()
const limit = { at: 'tool', what: 'tool spin', milliseconds: spin.timeoutMs, signal }
await Fault.within(limit, limited => spin.run({}, { id: 'a', episode: {}, signal: limited }))
