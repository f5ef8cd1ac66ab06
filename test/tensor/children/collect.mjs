// What nobody disposes is freed by the garbage collector, which knows how much hangs on it.
import assert from 'node:assert/strict'
import { PerformanceObserver } from 'node:perf_hooks'
import { setTimeout as wait } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'

const { checkpoint, memoryUse, record, Tensor, zeros } = await import(pathToFileURL(process.argv[2]).href)

async function collect() {
  for (let i = 0; i < 4; i++) {
    globalThis.gc()
    await wait(5)
  }
}

const MiB = 1 << 20
await collect()
const before = memoryUse()
await (async () => {
  for (let i = 0; i < 300; i++) zeros([256])
})()
await collect()
assert.equal(memoryUse().liveTensors, before.liveTensors)
assert.equal(memoryUse().bytes, before.bytes)

// Captured tensors go with the program, or the function, that captured them.
await (async () => {
  for (let i = 0; i < 20; i++) {
    const weight = Tensor.from(new Float32Array(1000), { requiresGrad: true })
    record(['tensor'], x => x.add(weight))
    checkpoint(['tensor'], x => x.add(weight))(weight).dispose()
  }
})()
await collect()
assert.equal(memoryUse().liveTensors, before.liveTensors)
assert.equal(memoryUse().bytes, before.bytes)

// Without any gc() of ours: V8 collects because it knows the bytes, of tensors and of views of their memory. Views of a
// forgotten tensor and second handles must not count again, or V8 would do nothing but collect.
for (const forget of [() => zeros([MiB]), () => zeros([MiB]).bytes()]) {
  let worst = 0
  for (let i = 0; i < 200; i++) {
    forget()
    worst = Math.max(worst, memoryUse().bytes - before.bytes)
    await wait(0)
  }
  assert.ok(worst < 500 * MiB, `${worst / MiB} of 800 MiB piled up`)
  await collect()
}

let collections = 0
const observer = new PerformanceObserver(list => {
  collections += list.getEntries().length
})
observer.observe({ entryTypes: ['gc'] })
const large = zeros([16 * MiB])
for (let i = 0; i < 200; i++) {
  large.alias()
  large.view([-1])
  large.at('new').expand([1000, -1])
}
await wait(5)
observer.disconnect()
assert.ok(collections < 20, `${collections} collections for 800 views`)
large.dispose()
await collect()

// A view keeps the memory for as long as it is there itself, and no longer.
let view = zeros([MiB]).bytes()
await collect()
assert.equal(view.length, 4 * MiB)
view = undefined
await collect()
assert.equal(memoryUse().bytes, before.bytes)
