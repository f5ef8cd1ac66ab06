// `npm run test:launchers`: trainings under a real torchrun come to the same bits as with the ranks that the command starts itself: on
// one machine, with an agent on each of two, and when a rank is killed and torchrun starts all of them again.
// WHETSTONE_TORCHRUN names another torchrun than the one on the PATH. Exit code 75 where there is none.

import { spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('..', import.meta.url))
const whetstone = join(root, 'install/whetstone.mjs')
const torchrun = process.env.WHETSTONE_TORCHRUN ?? 'torchrun'
const env = { ...process.env, OMP_NUM_THREADS: '1' }
const directory = mkdtempSync(join(tmpdir(), 'whetstone-launchers-'))
const fixture = name => join(root, 'test/fixtures', name)

/** @param {string} program @param {string[]} args @returns {Promise<void>} */
function run(program, args) {
  return new Promise((resolve, reject) => {
    const child = spawn(program, args, { cwd: directory, env, stdio: 'inherit' })
    child.on('error', reject)
    child.on('close', code =>
      code === 0 ? resolve() : reject(new Error(`${program} ${args.join(' ')} ended with exit code ${code}`)),
    )
  })
}

/** @param {string[]} launcher @param {string[]} command */
const launch = (launcher, command) =>
  run(torchrun, [...launcher, '--no-python', process.execPath, whetstone, ...command])

async function freePort() {
  const server = createServer()
  await new Promise(resolve => server.listen(0, '127.0.0.1', () => resolve(undefined)))
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address())
  await new Promise(resolve => server.close(resolve))
  return port
}

/** The process of a rank of this training. @param {number} rank @param {string} output */
function processOf(rank, output) {
  const found = readdirSync('/proc').find(pid => {
    try {
      const [words, variables] = ['cmdline', 'environ'].map(file =>
        readFileSync(`/proc/${pid}/${file}`, 'utf8').split('\0'),
      )
      return words[1] === whetstone && words.includes(output) && variables.includes(`RANK=${rank}`)
    } catch {
      return false
    }
  })
  return found === undefined ? undefined : Number(found)
}

/** Kills rank 1 after the first checkpoint. @param {string} output */
async function killRank(output) {
  const checkpoints = join(directory, output, 'checkpoints')
  while (!existsSync(checkpoints) || readdirSync(checkpoints).length === 0) await delay(20)
  const pid = processOf(1, output)
  if (pid === undefined) throw new Error('rank 1 was not found')
  process.kill(pid, 'SIGKILL')
}

/** @param {string} name @param {string} expected @param {string} what */
function compare(name, expected, what) {
  const weights = run => readFileSync(join(directory, run, 'final_model/model.safetensors'))
  if (!weights(name).equals(weights(expected))) throw new Error(`${what}: the ranks came to other weights`)
  console.log(`torchrun, ${what}: the same weights, to the bit`)
}

const eventsOf = run =>
  readFileSync(join(directory, run, 'logs/events.jsonl'), 'utf8')
    .trim()
    .split('\n')
    .map(line => JSON.parse(line).kind)

try {
  await run(torchrun, ['--version']).catch(error => {
    if (error.code !== 'ENOENT') return
    console.error(`${torchrun} is not here: install PyTorch, or name it with WHETSTONE_TORCHRUN`)
    process.exit(75)
  })
  const rows = Array.from({ length: 8 }, (_, i) => ({ prompt: `Question ${i}?`, completion: 'yes '.repeat(i + 1) }))
  writeFileSync(join(directory, 'rows.jsonl'), rows.map(row => `${JSON.stringify(row)}\n`).join(''))
  const shape = ['--family', 'qwen2', '--size', '2m', '--tokenizer', fixture('tokenizer')]
  await run(process.execPath, [whetstone, 'init', ...shape, '--out', 'model'])
  const options =
    'sft --model model --data rows.jsonl --device cpu --batch-size 3 --max-length 40 --chat-template none'.split(' ')

  await run(process.execPath, [whetstone, ...options, '--devices', '2', '--output', 'own'])
  await launch(['--standalone', '--nproc-per-node', '2'], [...options, '--output', 'standalone'])
  compare('standalone', 'own', 'one machine')

  const agent = ['--nnodes', '2', '--nproc-per-node', '1', '--rdzv-backend', 'c10d', '--rdzv-id', 'two']
  agent.push('--rdzv-endpoint', `localhost:${await freePort()}`)
  await Promise.all([0, 1].map(() => launch(agent, [...options, '--output', 'agents'])))
  compare('agents', 'own', 'two agents')

  const longer = [...options, '--epochs', '12', '--save-steps', '1']
  await run(process.execPath, [whetstone, ...longer, '--devices', '2', '--output', 'whole'])
  const restarting = ['--standalone', '--nproc-per-node', '2', '--max-restarts', '1']
  await Promise.all([launch(restarting, [...longer, '--output', 'again', '--resume']), killRank('again')])
  compare('again', 'whole', 'a rank killed and all started again')
  const events = eventsOf('again')
  if (events.filter(kind => kind === 'resumed').length !== 1) throw new Error(`the run was not resumed: ${events}`)
} finally {
  rmSync(directory, { recursive: true, force: true })
}
