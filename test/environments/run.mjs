/**
 * `npm run test:environments`: installs OpenEnv (and FastMCP, which it needs) into the cache (once, minutes; needs python3 with venv), and
 * runs the suite against real servers. Where the package index cannot be reached it says so and ends with exit code 75.
 *
 *   WHETSTONE_OPENENV_PYTHON  a Python that has openenv, to use instead
 *   node test/environments/run.mjs -t "part of a name"  what follows goes to vitest
 */
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const packages = ['openenv==0.10.0']
const project = fileURLToPath(new URL('../..', import.meta.url))
const python = process.env.WHETSTONE_OPENENV_PYTHON ?? install()
const vitest = join(project, 'node_modules/vitest/vitest.mjs')
const args = [vitest, 'run', '--config', 'vitest.engines.config.ts', 'test/environments', ...process.argv.slice(2)]
const env = { ...process.env, WHETSTONE_OPENENV_PYTHON: python }
process.exit(spawnSync(process.execPath, args, { cwd: project, stdio: 'inherit', env }).status ?? 1)

function install() {
  const { WHETSTONE_CACHE, XDG_CACHE_HOME = join(homedir(), '.cache') } = process.env
  const directory = join(WHETSTONE_CACHE ?? join(XDG_CACHE_HOME, 'whetstone'), 'environments')
  const executable = join(directory, 'bin/python')
  const marker = join(directory, packages.join('-'))
  if (existsSync(marker)) return executable
  const step = (program, ...rest) => spawnSync(program, rest, { encoding: 'utf8', stdio: ['ignore', 'ignore', 'pipe'] })
  mkdirSync(directory, { recursive: true })
  const made = step('python3', '-m', 'venv', directory)
  if (made.status !== 0) fail(`python3 -m venv failed: ${made.stderr ?? made.error}`, 1)
  const probe = join(directory, 'probe')
  const pip = ['-m', 'pip', '--disable-pip-version-check', '--quiet']
  const quick = ['--no-deps', '--timeout', '10', '--retries', '1', '--dest', probe]
  const reached = step(executable, ...pip, 'download', ...quick, packages[0])
  rmSync(probe, { recursive: true, force: true })
  if (reached.status !== 0) fail('the package index is not reachable, so it was not installed', 75)
  console.error(`installing ${packages.join(' and ')} into ${directory} (minutes)`)
  const installed = step(executable, ...pip, 'install', ...packages)
  if (installed.status !== 0) fail(`pip install failed: ${installed.stderr}`, 1)
  writeFileSync(marker, '')
  return executable
}

function fail(why, code) {
  console.error(`OpenEnv: ${why}. Nothing was tested.`)
  process.exit(code)
}
