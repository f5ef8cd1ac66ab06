// npm runs this after `npm ci`. Package managers that skip install scripts leave it to `npx whetstone setup`, which is the same.

import { isClone } from './build-javascript.mjs'

// `npx whetstone` in a clone installs the clone into npm's cache, as a link, to find the command: there is nothing to set up.
const linkedByNpx = process.env.npm_command === 'exec' && isClone

if (!linkedByNpx) {
  process.argv.splice(2, Number.POSITIVE_INFINITY, 'setup')
  await import('./whetstone.mjs')
}
