// Several worker threads compute at once; one is stopped in the middle of a program.
import assert from 'node:assert/strict'
import { setTimeout as wait } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import { isMainThread, parentPort, Worker, workerData } from 'node:worker_threads'

const index = isMainThread ? process.argv[2] : workerData.index
const { manualSeed, memoryUse, noGrad, randn, record, scope, Tensor, TensorError, RandomGenerator } = await import(
  pathToFileURL(index).href
)

const long = () =>
  record(['tensor'], x => {
    let y = x
    for (let i = 0; i < 2000; i++) y = y.matmul(x).tanh()
    return y
  })

async function work(seed) {
  const generator = new RandomGenerator({ seed })
  const weight = randn([8, 8], { generator })
  weight.requiresGrad = true
  const program = record(['tensor'], x => {
    const loss = x.matmul(weight).silu().square().mean()
    loss.backward()
    return loss.detach()
  })
  const losses = []
  for (let i = 0; i < 40; i++) {
    const loss = await program.run(randn([4, 8], { generator }))
    losses.push(loss.item())
    scope(() => noGrad(() => weight.sub_(weight.grad.mul(0.1))))
    weight.grad = undefined
    assert.throws(() => weight.matmul(Tensor.from([1, 2, 3])), TensorError)
    const failing = record(['tensor'], x => x.matmul(Tensor.from([1, 2, 3])))
    await assert.rejects(failing.run(weight), /aten::matmul/)
  }
  return losses
}

if (!isMainThread) {
  if (workerData.seed === undefined) {
    long().run(randn([400, 400]))
    parentPort.postMessage('running')
  } else parentPort.postMessage(await work(workerData.seed))
} else {
  const start = data => new Worker(new URL(import.meta.url), { workerData: { index, ...data } })
  const answer = worker =>
    new Promise((resolve, reject) => {
      worker.once('message', resolve)
      worker.once('error', reject)
    })
  const seeds = [1, 2, 3, 1]
  const [mine, ...theirs] = await Promise.all([work(1), ...seeds.map(seed => answer(start({ seed })))])
  assert.deepEqual(theirs[0], mine, 'a worker computes what the main thread computes')
  assert.deepEqual(theirs[3], mine)
  assert.notDeepEqual(theirs[1], mine)

  for (let i = 0; i < 3; i++) {
    const worker = start({})
    await answer(worker)
    await wait(20)
    const began = performance.now()
    await worker.terminate()
    assert.ok(performance.now() - began < 1500, 'a program stops with its thread')
  }
  manualSeed(1)
  assert.equal(Tensor.from([1, 2]).sum().item(), 3)
  assert.ok(memoryUse().bytes >= 0)
  console.log('done')
}
