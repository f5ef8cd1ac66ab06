// npm runs this after `npm ci`. Package managers that skip install scripts leave it to `npx whetstone setup`, which is the same.

import { existsSync } from 'node:fs'

// `npx whetstone` in a clone installs the clone into npm's cache, as a link, to find the command: there is nothing to set up.
const linkedByNpx = process.env.npm_command === 'exec' && existsSync(new URL('../src', import.meta.url))

if (!linkedByNpx) {
  process.argv.splice(2, Number.POSITIVE_INFINITY, 'setup')
  await import('./whetstone.mjs')
}
