// Rewards of this process under the watchdog.   node watched.mjs DIST BRIDGE MODE DEADLINE_MS
import { spawn, spawnSync } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { createRequire } from 'node:module'
import { setPriority } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'

const [, , dist, bridge, mode, deadlineMs] = process.argv
const load = file => import(pathToFileURL(join(dist, file)).href)
const { RewardComputationEngine, sampleReward, textRewardInput } = await load('reward/library.js')
const { provideWatchdog } = await load('watchdog/index.js')
provideWatchdog(createRequire(import.meta.url)(bridge))
process.once('SIGINT', () => process.exit(5))

/** Uses this much processor time, however long the machine takes for it. */
function burn(ms) {
  const until = process.cpuUsage().user + ms * 1000
  while (process.cpuUsage().user < until);
  return 1
}

/** Another process wants the same processor all the time, and has a far better claim to it. */
function starve() {
  const greedy = spawn('taskset', ['-c', '0', process.execPath, '-e', 'for (;;);'], { stdio: 'ignore' })
  process.once('exit', () => greedy.kill('SIGKILL'))
  spawnSync('taskset', ['-a', '-c', '-p', '0', String(process.pid)])
  for (const thread of readdirSync('/proc/self/task')) setPriority(Number(thread), 19)
}

function forever() {
  console.log('begun')
  for (;;);
}

const rewards = {
  'at once': forever,
  'after a while': () => sleep(50).then(forever),
  'never answers': () => {
    console.log('begun')
    return new Promise(() => {})
  },
  'given up': () => new Promise(() => {}),
  starved: () => {
    starve()
    const [began, used] = [performance.now(), process.cpuUsage().user]
    burn(250)
    console.log(`took ${performance.now() - began} ms, used ${(process.cpuUsage().user - used) / 1000} ms`)
    return 1
  },
  fine: () => sleep(300).then(() => 1),
}
const source = sampleReward(rewards[mode], { name: 'my reward', deadlineMs: Number(deadlineMs) })
const blockedMs = mode === 'starved' ? 1000 : 1e9
const onBlocked = event => console.log(`blamed for ${event.blockedMs} ms`)
const engine = new RewardComputationEngine({ sources: [source], blockedMs, onBlocked })
const input = textRewardInput({ prompt: 'a', response: 'b' })
const { summary } = await engine.compute(mode === 'starved' ? [input] : [input, input])
if (mode === 'starved') process.exit()
console.log(JSON.stringify(summary.failuresByReason))
if (mode === 'given up') for (const end = performance.now() + 11_500; performance.now() < end; );
// The thread is still there, and has nothing to watch.
await sleep(500)
