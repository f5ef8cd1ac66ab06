// Rewards of this process under the watchdog.   node watched.mjs DIST BRIDGE MODE DEADLINE_MS
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'

const [, , dist, bridge, mode, deadlineMs] = process.argv
const load = file => import(pathToFileURL(join(dist, file)).href)
const { RewardComputationEngine, sampleReward, textRewardInput } = await load('reward/library.js')
const { provideWatchdog } = await load('watchdog/index.js')
provideWatchdog(() => createRequire(import.meta.url)(bridge))
process.once('SIGINT', () => process.exit(5))

function forever() {
  console.log('begun')
  for (;;);
}

const rewards = {
  'at once': forever,
  'after a while': () => sleep(50).then(forever),
  asleep: () => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0),
  'never answers': () => {
    console.log('begun')
    return new Promise(() => {})
  },
  'given up': () => new Promise(() => {}),
  fine: () => sleep(300).then(() => 1),
}
const source = sampleReward(rewards[mode], { name: 'my reward', deadlineMs: Number(deadlineMs) })
const engine = new RewardComputationEngine({ sources: [source], blockedMs: 1e9 })
const input = textRewardInput({ prompt: 'a', response: 'b' })
const { summary } = await engine.compute([input, input])
console.log(JSON.stringify(summary.failuresByReason))
if (mode === 'given up') for (const end = performance.now() + 11_500; performance.now() < end; );
// The thread is still there, and has nothing to watch.
await sleep(500)
