/** The Chromium of this machine, for tests and benches that need a real browser. Nothing is installed. */
import { existsSync } from 'node:fs'

const places = [
  process.env.WHETSTONE_CHROMIUM,
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  '/usr/bin/google-chrome',
]

/** Undefined where there is none. */
export const chromiumPath = places.find(path => path !== undefined && existsSync(path))

/** It runs as root in containers, and asks for nothing by itself. */
export const chromiumArguments = [
  ...['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking'],
  ...['--disable-component-update', '--disable-sync'],
]
