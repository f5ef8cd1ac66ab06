/**
 * `npm run test:vllm` and `npm run test:sglang`: installs a real server for CPUs into the cache (once, 2 minutes and 1.5 GB), and
 * runs the suites against it. Where the package index cannot be reached it says so and ends with exit code 75.
 *
 *   WHETSTONE_VLLM, WHETSTONE_SGLANG_PYTHON  an installation to use instead
 *   node test/engines/run.mjs vllm -t "part of a name"  what follows goes to vitest
 */
import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

const project = fileURLToPath(new URL('../..', import.meta.url))
const programs = {
  vllm: { variable: 'WHETSTONE_VLLM', path: 'bin/vllm' },
  sglang: { variable: 'WHETSTONE_SGLANG_PYTHON', path: 'bin/python' },
}
const [type, ...further] = process.argv.slice(2)
if (!(type in programs)) {
  console.error('usage: run.mjs vllm|sglang [arguments of vitest]')
  process.exit(2)
}
const { variable, path } = programs[type]
const env = { ...process.env, [variable]: process.env[variable] ?? join(install(), path) }
const vitest = join(project, 'node_modules/vitest/vitest.mjs')
const files = further.some(word => word.startsWith('test/')) ? [] : [`test/engines/${type}`]
const args = [vitest, 'run', '--config', 'vitest.engines.config.ts', ...files, ...further]
process.exit(spawnSync(process.execPath, args, { cwd: project, stdio: 'inherit', env }).status ?? 1)

function install() {
  const script = join(project, 'tools/engines/install.sh')
  const { status, stdout } = spawnSync('bash', [script, type], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  if (status === 0) return stdout.trim()
  console.error(`${type}: nothing was tested.`)
  process.exit(status ?? 1)
}
