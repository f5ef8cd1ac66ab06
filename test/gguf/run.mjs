/**
 * `npm run test:gguf`: installs node-llama-cpp (llama.cpp for Node) with its binary for this machine alone into the cache, once, and compares
 * it with the engine here. Where the registry cannot be reached it says so and ends with exit code 75.
 *
 *   WHETSTONE_NODE_LLAMA_CPP  a folder with node_modules/node-llama-cpp to use instead
 *   WHETSTONE_GGUF_MODEL      a model directory to compare too, such as a SmolLM2
 *   node test/gguf/run.mjs -t "part of a name"   what follows goes to vitest
 */
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const version = '3.22.1'
const project = fileURLToPath(new URL('../..', import.meta.url))
const folder = process.env.WHETSTONE_NODE_LLAMA_CPP ?? install()
const vitest = join(project, 'node_modules/vitest/vitest.mjs')
const args = [vitest, 'run', '--config', 'vitest.engines.config.ts', 'test/gguf', ...process.argv.slice(2)]
const env = { ...process.env, WHETSTONE_NODE_LLAMA_CPP: folder }
process.exit(spawnSync(process.execPath, args, { cwd: project, stdio: 'inherit', env }).status ?? 1)

function install() {
  const { WHETSTONE_CACHE, XDG_CACHE_HOME } = process.env
  const cache = WHETSTONE_CACHE || join(XDG_CACHE_HOME || join(homedir(), '.cache'), 'whetstone')
  const at = join(cache, `node-llama-cpp-${version}`)
  const done = join(at, 'installed')
  if (existsSync(done)) return at
  const machine = `@node-llama-cpp/${process.platform === 'darwin' ? `mac-${process.arch === 'arm64' ? 'arm64-metal' : 'x64'}` : `${process.platform === 'win32' ? 'win' : 'linux'}-${process.arch}`}`
  console.log(`Installing node-llama-cpp ${version} and ${machine} into ${at}.`)
  rmSync(at, { recursive: true, force: true })
  mkdirSync(at, { recursive: true })
  writeFileSync(join(at, 'package.json'), '{ "private": true }\n')
  // Without its scripts, which would look for a compiler, and without the binaries for other machines.
  const words = ['install', '--ignore-scripts', '--omit=optional', '--no-audit', '--no-fund']
  const packages = [`node-llama-cpp@${version}`, `${machine}@${version}`]
  const { status } = spawnSync('npm', [...words, ...packages], { cwd: at, stdio: 'inherit' })
  if (status === 0) {
    writeFileSync(done, '')
    return at
  }
  console.error('node-llama-cpp could not be installed: is the package registry reachable? Nothing was tested.')
  process.exit(75)
}
