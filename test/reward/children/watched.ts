// Rewards of this process under the watchdog.   node watched.mjs BRIDGE MODE DEADLINE_MS
import { createRequire } from 'node:module'
import { setTimeout as sleep } from 'node:timers/promises'
import { RewardComputationEngine, sampleReward, textRewardInput } from '../../../src/reward/library.js'
import { provideWatchdog, type WatchdogNative } from '../../../src/watchdog/index.js'

const [, , bridge, mode, deadlineMs] = process.argv
provideWatchdog(createRequire(import.meta.url)(bridge!) as WatchdogNative)
process.once('SIGINT', () => process.exit(5))

function forever(): never {
  console.log('begun')
  for (;;);
}

const rewards: Record<string, () => number | Promise<number>> = {
  'at once': forever,
  'after a while': () => sleep(50).then(forever),
  'never answers': () => {
    console.log('begun')
    return new Promise(() => {})
  },
  'given up': () => new Promise(() => {}),
  fine: () => sleep(300).then(() => 1),
}
const source = sampleReward(rewards[mode!]!, { name: 'my reward', deadlineMs: Number(deadlineMs) })
const engine = new RewardComputationEngine({ sources: [source], blockedMs: 1e9 })
const input = textRewardInput({ prompt: 'a', response: 'b' })
const { summary } = await engine.compute([input, input])
console.log(JSON.stringify(summary.failuresByReason))
if (mode === 'given up') for (const end = performance.now() + 11_500; performance.now() < end; );
// The thread is still there, and has nothing to watch.
await sleep(500)
