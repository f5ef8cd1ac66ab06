#!/usr/bin/env node
// The `whetstone` command. All it does itself is to make sure that there is JavaScript to run.

import { existsSync } from 'node:fs'
import { buildJavaScript } from './build-javascript.mjs'

const args = process.argv.slice(2)
const main = new URL('../dist/cli/main.js', import.meta.url)

async function ready() {
  if (args[0] === 'setup' && !args.includes('--help')) {
    try {
      await buildJavaScript()
    } catch (error) {
      console.error(`whetstone: ${error.message}`)
      return false
    }
  }
  if (existsSync(main)) return true
  console.error('whetstone: it is not set up yet: run `npx whetstone setup`')
  return false
}

process.exitCode = (await ready()) ? await (await import(main.href)).start(args) : 1
// An interrupted command may have left work behind that never ends.
if (process.exitCode > 128) process.exit()
// A logger that does not answer must not keep a process that is done.
setTimeout(() => process.exit(), 1000).unref()
