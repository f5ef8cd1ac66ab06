// One member of a process group, with the store of rank 0:   node collectives.mjs INDEX PORT RANK SIZE
import { pathToFileURL } from 'node:url'

const { ProcessGroup, Store, Tensor, zeros } = await import(pathToFileURL(process.argv[2]).href)
const [port, rank, size] = process.argv.slice(3).map(Number)
const store = await Store.open({ host: '127.0.0.1', port, served: 'elsewhere', limitMs: 20_000 })
await store.set(`here/${rank}`, 'yes')
const backend = { kind: 'gloo', host: '127.0.0.1' }
const group = await ProcessGroup.join({ store, name: 'test', rank, size, limitMs: 20_000, backend })

const numbers = Tensor.from(Float32Array.of(rank, 10 * rank, 1))
await group.allReduce(numbers)
const largest = Tensor.from(Int32Array.of(rank, -rank))
await group.allReduce(largest, { of: 'max' })
const whole = Tensor.from(Float32Array.from({ length: 2 * size }, (_, i) => i + rank))
const part = zeros([2])
await group.reduceScatter({ whole, part })
await group.allGather({ whole, part: Tensor.from(Float32Array.of(rank, rank + 0.5)) })
const same = Tensor.from(Float32Array.of(rank))
await group.broadcast(same, { from: 1 })
await group.barrier()
const read = async tensor => [...(await tensor.data())]
const found = { numbers, largest, part, whole, same }
const shown = Object.fromEntries(
  await Promise.all(Object.entries(found).map(async ([name, t]) => [name, await read(t)])),
)
console.log(JSON.stringify(shown))
// The other one waits for this process in vain.
if (process.argv[6] === 'stay') await group.barrier()
process.exit(0)
