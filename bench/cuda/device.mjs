/** What the tensor room promises about a device itself: moves, streams, memory, randomness, failures that do not spread. */
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { homedir, tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import {
  ArgumentError,
  checkpoint,
  dropout,
  gradients,
  Kernel,
  manualSeed,
  memoryUse,
  OutOfMemoryError,
  RandomGenerator,
  randn,
  record,
  Stream,
  scope,
  synchronize,
  Tensor,
  TensorError,
} from '../../dist/tensor/index.js'
import { Checks } from './checks.mjs'

export async function run() {
  const checks = new Checks()
  const device = 'cuda'

  await checks.try('moves', async () => {
    const x = Tensor.from([1.5, -2, 3])
    const there = x.to(device, 'bfloat16')
    checks.is('a move keeps values', JSON.stringify(there.tolist()) === '[1.5,-2,3]', `${there.tolist()}`)
    checks.is('data() reads a device', (await there.cast('float32').data())[2] === 3)
  })

  await checks.try('memory', async () => {
    await synchronize(device)
    const before = memoryUse(device, { resetPeak: true })
    const big = Tensor.empty([64 << 20], { dtype: 'uint8', device })
    const during = memoryUse(device)
    big.dispose()
    const after = memoryUse(device)
    checks.is('memory counts up', during.bytes - before.bytes === 64 << 20, `${during.bytes - before.bytes}`)
    checks.is('memory counts down', after.bytes === before.bytes)
    checks.is('memory has a peak', after.peakBytes >= during.bytes)
    checks.is('memory has a reserve', after.reservedBytes >= after.bytes)
  })

  await checks.try('random', () => {
    const samplingRow = seed => {
      const generator = new RandomGenerator({ seed, device })
      const values = JSON.stringify(randn([5], { generator, device }).tolist())
      generator.dispose()
      return values
    }
    const [seven, sevenAgain, eight] = [7, 7, 8].map(samplingRow)
    checks.is('a generator repeats its seed', seven === sevenAgain)
    checks.is('another seed, other numbers', seven !== eight)
    const seeded = seed => {
      manualSeed(seed)
      return JSON.stringify(randn([5], { device }).tolist())
    }
    const [three, threeAgain] = [3, 3].map(seeded)
    checks.is('manualSeed repeats on the device', three === threeAgain)
    const generator = new RandomGenerator({ seed: 1, device })
    const state = generator.state()
    const first = JSON.stringify(randn([5], { generator, device }).tolist())
    generator.setState(state)
    checks.is('a state continues', JSON.stringify(randn([5], { generator, device }).tolist()) === first)
  })

  await checks.try('recomputation', () => {
    const x = randn([64], { device })
    x.requiresGrad = true
    const f = x => dropout(x.sin(), 0.5, { train: true }).exp()
    manualSeed(5)
    const [a] = gradients([checkpoint(['tensor'], f)(x).sum()], [x])
    manualSeed(5)
    const [b] = gradients([f(x).sum()], [x])
    checks.is('a checkpoint samplingRows the same numbers again', a.equal(b))
  })

  await checks.try('streams', async () => {
    const main = new Stream(device)
    const side = new Stream(device)
    const x = randn([1 << 22], { device })
    await synchronize(device)
    const y = main.use(() => x.mul(2))
    side.waitFor(main)
    const z = side.use(() => y.add(1))
    const program = record(['tensor'], y => y.add(1))
    const w = await side.use(() => program.run(y))
    await synchronize(device)
    checks.is('ordered streams', z.equal(x.mul(2).add(1)))
    checks.is('a program runs on the stream it was started on', w.equal(z))
    for (let i = 0; i < 100; i++) main.use(() => x.add(1).dispose())
  })

  await checks.throws(
    'out of memory',
    () => Tensor.empty([1e12], { dtype: 'float32', device }),
    /memory/i,
    OutOfMemoryError,
  )
  const huge = record(['tensor', 'number'], (x, n) => x.expand([n, n]).add(1))
  await checks.throws(
    'out of memory in a program',
    () => huge.run(Tensor.from([1], { device }), 1e6),
    /memory/i,
    OutOfMemoryError,
  )
  checks.is('after it, the device works', Tensor.from([2], { device }).mul(3).item() === 6)

  await checks.try('graphs', async () => {
    const x = randn([8, 8], { device })
    const program = record(['tensor'], x => x.matmul(x).relu())
    const captured = await program.capture([x])
    x.fill_(1)
    captured.replay()
    await synchronize(device)
    checks.is('a graph reads its inputs anew', captured.outputs.at(0, 0).item() === 8)
    const waits = record(['tensor'], x => x.nonzero())
    await checks.throws('what cannot be captured is refused', () => waits.capture([x], { warmups: 1 }), /captur/i)
    checks.is('after a refused capture, random numbers can be drawn', randn([2], { device }).numel === 2)
    const again = await program.capture([x])
    again.replay()
    await synchronize(device)
    checks.is('after a refused capture, another works', again.outputs.at(0, 0).item() === 8)
    const samplingRows = record(['tensor'], x => dropout(x, 0.5, { train: true }))
    const random = await samplingRows.capture([x.expand([64, 8, 8]).contiguous()])
    const results = []
    for (let i = 0; i < 2; i++) {
      random.replay()
      await synchronize(device)
      results.push(random.outputs.clone())
    }
    checks.is('every replay samplingRows new numbers', !results[0].equal(results[1]))
    const big = randn([1024, 1024], { device })
    const heavy = record([], () => big.mul(3).add(1).mul(2).sum())
    const expected = big.mul(3).add(1).mul(2).sum().item()
    const near = value => Math.abs(value - expected) < 1e-3 * Math.abs(expected) + 1
    const first = await heavy.capture([], { warmups: 1 })
    const reserved = memoryUse(device).reservedBytes
    const others = []
    for (let i = 0; i < 8; i++) others.push(await heavy.capture([], { warmups: 1, beside: first }))
    checks.is('graphs beside each other share memory', memoryUse(device).reservedBytes - reserved < 2 ** 22)
    for (const graph of [first, ...others]) {
      graph.replay()
      await synchronize(device)
    }
    checks.is(
      'and keep their results apart',
      [first, ...others].every(({ outputs }) => near(outputs.item())),
    )
    first.dispose()
    others[0].outputs.fill_(0)
    others[0].replay()
    await synchronize(device)
    checks.is('one goes on without the other', near(others[0].outputs.item()))
    for (const graph of others) graph.dispose()
    captured.dispose()
    again.dispose()
    random.dispose()
  })

  await checks.try('kernel errors', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'whetstone-'))
    const file = join(folder, 'broken.cu')
    writeFileSync(
      file,
      'extern "C" __global__ void broken(float *x) {\n  int i = threadIdx.x;\n  x[i] = undeclared(i);\n}\nextern "C" __global__ void fine(float *x) { x[threadIdx.x] = 1; }\n',
    )
    const kernel = new Kernel({ file: pathToFileURL(file), entry: 'broken', parameters: ['tensor:float32'] })
    const x = Tensor.empty([32], { device })
    const shown = /broken\.cu\(3\): error: identifier "undeclared".*\n\s*x\[i\] = undeclared\(i\);/
    const launch = x => kernel.launch({ grid: [1], block: [32] }, x)
    await checks.throws('a compile error shows the line', () => launch(x), shown, TensorError)
    const recorded = record(['tensor'], launch)
    await checks.throws('also from a program', () => recorded.run(x), shown, TensorError)
    writeFileSync(file, 'extern "C" __global__ void fine(float *x) { x[threadIdx.x] = 1; }\n')
    const fine = new Kernel({ file: pathToFileURL(file), entry: 'fine', parameters: ['tensor:float32'] })
    const missing = new Kernel({ file: pathToFileURL(file), entry: 'nothing', parameters: ['tensor:float32'] })
    await checks.throws('an unknown entry is named', () => missing.launch({ grid: [1], block: [1] }, x), /nothing/)
    const wrong = (name, tensor, pattern) =>
      checks.throws(name, () => fine.launch({ grid: [1], block: [32] }, tensor), pattern, ArgumentError)
    await wrong('another dtype is refused', x.cast('float64'), /Float.*Double/)
    await wrong('a CPU tensor is refused', Tensor.from([1]), /CUDA tensor/)
    await wrong('a view with gaps is refused', x.view([4, 8]).t(), /contiguous/)
    await wrong('a misaligned tensor is refused', x.slice(0, 1), /16 bytes/)
    await checks.throws('a block too large is refused', () => fine.launch({ grid: [1], block: [4096] }, x), /launching/)
    fine.launch({ grid: [0], block: [32] }, x)
    // From a thread that has called nothing of CUDA yet, and gets its memory from libtorch's cache.
    await record(['tensor'], x => fine.launch({ grid: [1], block: [32] }, x)).run(x)
    await synchronize(device)
    checks.is('after all of these, the device works', x.sum().item() === 32)
    rmSync(folder, { recursive: true })
  })

  await checks.try('scopes', async () => {
    await synchronize(device)
    const before = memoryUse(device).bytes
    scope(() => {
      let x = randn([1 << 20], { device })
      for (let i = 0; i < 10; i++) x = x.add(1)
    })
    checks.is('a scope frees device memory', memoryUse(device).bytes === before)
  })

  const cache =
    process.env.WHETSTONE_CACHE || join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'whetstone')
  checks.is(
    'compiled kernels are kept on disk',
    readdirSync(join(cache, 'kernels')).some(name => name.endsWith('.cubin')),
  )
  return { right: checks.report(), kept: true }
}
