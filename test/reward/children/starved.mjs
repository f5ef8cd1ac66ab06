// A function that the machine gives hardly any processor time.   node starved.mjs DIST BRIDGE LIMIT_MS
// Threads of usual priority take all processors for some seconds; the thread of the function has the lowest priority.
import { createRequire } from 'node:module'
import { availableParallelism, constants, setPriority } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { Worker } from 'node:worker_threads'

const [, , dist, bridge, limitMs] = process.argv
const { cpuTimer, provideWatchdog, Watch } = await import(pathToFileURL(join(dist, 'watchdog/index.js')).href)
provideWatchdog(() => createRequire(import.meta.url)(bridge))

const busyMs = 4 * Number(limitMs)
const busy = `const end = performance.now() + ${busyMs}; require('node:worker_threads').parentPort.postMessage('busy'); while (performance.now() < end);`
const workers = Array.from({ length: 2 * availableParallelism() }, () => new Worker(busy, { eval: true }))
await Promise.all(workers.map(worker => new Promise(resolve => worker.once('message', resolve))))
// The thread of the watchdog has the usual priority: it is started before.
new Watch('first', 1e9).call(async () => {}).release()
// Of this thread alone, on Linux.
setPriority(process.pid, constants.priority.PRIORITY_LOW)

const started = performance.now()
const used = cpuTimer()
const work = async () => {
  while (performance.now() - started < 3 * Number(limitMs) && used() < 0.6 * Number(limitMs));
}
const { answer, release } = new Watch('slow', Number(limitMs)).call(work)
await answer
release()
console.log(JSON.stringify({ wallMs: performance.now() - started, usedMs: used() }))
process.exit(0)
