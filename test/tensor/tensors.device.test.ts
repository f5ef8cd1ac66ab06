/** What the tensor room promises about a device itself: moves, streams, memory, randomness, failures that do not spread. */
import { readdirSync, writeFileSync } from 'node:fs'
import { totalmem } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { describe, expect, test } from 'vitest'
import { cacheDirectory } from '../../src/files/index.js'
import {
  ArgumentError,
  type CapturedProgram,
  checkpoint,
  cudaDevice,
  dropout,
  freeMemory,
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
} from '../../src/tensor/index.js'
import { describeCuda, device, onCuda, relativeError } from '../support/device.js'
import { temporaryDirectory } from '../support/files.js'

describe('a tensor', () => {
  test('keeps its values on the way there and back', async () => {
    const there = Tensor.from([1.5, -2, 3]).to(device, 'bfloat16')
    expect(there.tolist()).toEqual([1.5, -2, 3])
    expect((await there.cast('float32').data())[2]).toBe(3)
  })

  test('is counted while it lives', async () => {
    if (onCuda) await synchronize(device)
    const before = memoryUse(device, { resetPeak: true })
    const big = Tensor.empty([64 << 20], { dtype: 'uint8', device })
    const during = memoryUse(device)
    big.dispose()
    const after = memoryUse(device)
    expect(during.bytes - before.bytes).toBe(64 << 20)
    expect(after.bytes).toBe(before.bytes)
    expect(after.peakBytes).toBeGreaterThanOrEqual(during.bytes)
    expect(after.reservedBytes).toBeGreaterThanOrEqual(after.bytes)
  })

  test('that is free is less than the machine has, and falls by what a tensor takes', () => {
    const before = freeMemory(device)
    expect(before).toBeGreaterThan(0)
    expect(before).toBeLessThanOrEqual(onCuda ? cudaDevice(device)!.totalBytes : totalmem())
    if (!onCuda) return
    const big = Tensor.empty([1 << 30], { dtype: 'uint8', device })
    const during = freeMemory(device)
    big.dispose()
    expect(before - during).toBeGreaterThan(0.9 * 2 ** 30)
    expect(freeMemory(device) - during).toBeGreaterThan(0.9 * 2 ** 30)
  })

  test('of a scope is freed with it', async () => {
    if (onCuda) await synchronize(device)
    const before = memoryUse(device).bytes
    scope(() => {
      let x = randn([1 << 20], { device })
      for (let i = 0; i < 10; i++) x = x.add(1)
    })
    expect(memoryUse(device).bytes).toBe(before)
  })
})

describe('random numbers', () => {
  const values = (generator?: RandomGenerator): unknown =>
    scope(() => randn([5], { device, ...(generator ? { generator } : {}) }).tolist())

  test('of a generator repeat with its seed', () => {
    const drawn = [7, 7, 8].map(seed => {
      const generator = new RandomGenerator({ seed, device })
      const found = values(generator)
      generator.dispose()
      return found
    })
    expect(drawn[1]).toEqual(drawn[0])
    expect(drawn[2]).not.toEqual(drawn[0])
  })

  test('repeat with manualSeed', () => {
    const [three, again] = [3, 3].map(seed => {
      manualSeed(seed)
      return values()
    })
    expect(again).toEqual(three)
  })

  test('continue from a state', () => {
    const generator = new RandomGenerator({ seed: 1, device })
    const state = generator.state()
    const first = values(generator)
    generator.setState(state)
    expect(values(generator)).toEqual(first)
    generator.dispose()
  })

  test('are drawn again when activations are computed again', () => {
    const x = randn([64], { device })
    x.requiresGrad = true
    const f = (x: Tensor): Tensor => dropout(x.sin(), 0.5, { train: true }).exp()
    manualSeed(5)
    const [a] = gradients([checkpoint(['tensor'], f)(x).sum()], [x])
    manualSeed(5)
    const [b] = gradients([f(x).sum()], [x])
    expect(a!.equal(b!)).toBe(true)
  })
})

describeCuda('memory that is not there', () => {
  test('is an error that a caller can catch, and the device goes on', async () => {
    expect(() => Tensor.empty([1e12], { dtype: 'float32', device })).toThrow(OutOfMemoryError)
    expect(() => Tensor.empty([1e12], { dtype: 'float32', device })).toThrow(/memory/i)
    const huge = record(['tensor', 'number'], (x, n) => x.expand([n, n]).add(1))
    await expect(huge.run(Tensor.from([1], { device }), 1e6)).rejects.toThrow(OutOfMemoryError)
    expect(Tensor.from([2], { device }).mul(3).item()).toBe(6)
  })
})

describeCuda('streams', () => {
  test('are ordered by waitFor, and programs run on the one they were started on', async () => {
    const [main, side] = [new Stream(device), new Stream(device)]
    const x = randn([1 << 22], { device })
    await synchronize(device)
    const y = main.use(() => x.mul(2))
    side.waitFor(main)
    const z = side.use(() => y.add(1))
    const program = record(['tensor'], y => y.add(1))
    const w = await side.use(() => program.run(y))
    await synchronize(device)
    expect(z.equal(x.mul(2).add(1))).toBe(true)
    expect(w.equal(z)).toBe(true)
    for (let i = 0; i < 100; i++) main.use(() => x.add(1).dispose())
  })
})

describeCuda('a graph', () => {
  test('reads its inputs anew, and a refused capture leaves no harm', async () => {
    const x = randn([8, 8], { device })
    const program = record(['tensor'], x => x.matmul(x).relu())
    const captured = await program.capture([x])
    x.fill_(1)
    captured.replay()
    await synchronize(device)
    expect(captured.outputs.at(0, 0).item()).toBe(8)
    const waits = record(['tensor'], x => x.nonzero())
    await expect(waits.capture([x], { warmups: 1 })).rejects.toThrow(/captur/i)
    expect(randn([2], { device }).numel).toBe(2)
    const again = await program.capture([x])
    again.replay()
    await synchronize(device)
    expect(again.outputs.at(0, 0).item()).toBe(8)
    program.dispose()
  })

  test('of many operators gives what they give eagerly, as their program does', async () => {
    const [weights, x] = [0, 1].map(() => randn([256, 256], { device }).mul(0.1)) as [Tensor, Tensor]
    const chain = (first: Tensor): Tensor => {
      let value = first
      for (let i = 0; i < 24; i++) value = value.matmul(weights).silu().add(first)
      return value
    }
    const program = record(['tensor'], chain)
    const graph = await program.capture([x])
    graph.outputs.fill_(Number.NaN)
    graph.replay()
    await synchronize(device)
    const expected = chain(x).to('cpu', 'float64')
    // cuBLAS may sum in another order on another stream.
    for (const found of [await program.run(x), graph.outputs]) expect(relativeError(found, expected)).toBeLessThan(1e-3)
    program.dispose()
  })

  test('draws new random numbers at every replay', async () => {
    const x = Tensor.empty([64, 8, 8], { device }).fill_(1)
    const program = record(['tensor'], x => dropout(x, 0.5, { train: true }))
    const graph = await program.capture([x])
    const results: Tensor[] = []
    for (let i = 0; i < 2; i++) {
      graph.replay()
      await synchronize(device)
      results.push(graph.outputs.clone())
    }
    expect(results[0]!.equal(results[1]!)).toBe(false)
    program.dispose()
  })

  test('beside others shares their memory, and keeps its own results', async () => {
    const big = randn([1024, 1024], { device })
    const heavy = record([], () => big.mul(3).add(1).mul(2).sum())
    const expected = big.mul(3).add(1).mul(2).sum().item()
    const near = ({ outputs }: CapturedProgram<Tensor>): boolean =>
      Math.abs(outputs.item() - expected) < 1e-3 * Math.abs(expected) + 1
    const first = await heavy.capture([], { warmups: 1 })
    const reserved = memoryUse(device).reservedBytes
    const others: CapturedProgram<Tensor>[] = []
    for (let i = 0; i < 8; i++) others.push(await heavy.capture([], { warmups: 1, beside: first }))
    expect(memoryUse(device).reservedBytes - reserved).toBeLessThan(2 ** 22)
    for (const graph of [first, ...others]) {
      graph.replay()
      await synchronize(device)
    }
    expect([first, ...others].every(near)).toBe(true)
    first.dispose()
    others[0]!.outputs.fill_(0)
    others[0]!.replay()
    await synchronize(device)
    expect(near(others[0]!)).toBe(true)
    for (const graph of others) graph.dispose()
  })
})

describeCuda('a kernel', () => {
  const folder = temporaryDirectory()
  const file = join(folder, 'broken.cu')
  const launchOne = { grid: [1], block: [32] } as const

  test('that does not compile shows the line', async () => {
    writeFileSync(
      file,
      'extern "C" __global__ void broken(float *x) {\n  int i = threadIdx.x;\n  x[i] = undeclared(i);\n}\nextern "C" __global__ void fine(float *x) { x[threadIdx.x] = 1; }\n',
    )
    const kernel = new Kernel({ file: pathToFileURL(file), entry: 'broken', parameters: ['tensor:float32'] })
    const x = Tensor.empty([32], { device })
    const shown = /broken\.cu\(3\): error: identifier "undeclared".*\n\s*x\[i\] = undeclared\(i\);/
    const launch = (x: Tensor): void => kernel.launch(launchOne, x)
    expect(() => launch(x)).toThrow(shown)
    expect(() => launch(x)).toThrow(TensorError)
    const recorded = record(['tensor'], launch)
    await expect(recorded.run(x)).rejects.toThrow(shown)
    await expect(recorded.run(x)).rejects.toThrow(TensorError)
  })

  test('refuses what it cannot take, and the device goes on', async () => {
    writeFileSync(file, 'extern "C" __global__ void fine(float *x) { x[threadIdx.x] = 1; }\n')
    const make = (entry: string): Kernel =>
      new Kernel({ file: pathToFileURL(file), entry, parameters: ['tensor:float32'] })
    const fine = make('fine')
    const x = Tensor.empty([32], { device })
    expect(() => make('nothing').launch({ grid: [1], block: [1] }, x)).toThrow(/nothing/)
    const refused: [what: string, given: Tensor, message: RegExp][] = [
      ['another dtype', x.cast('float64'), /Float.*Double/],
      ['a CPU tensor', Tensor.from([1]), /CUDA tensor/],
      ['a view with gaps', x.view([4, 8]).t(), /contiguous/],
      ['a misaligned tensor', x.slice(0, 1), /16 bytes/],
    ]
    for (const [what, given, message] of refused) {
      expect(() => fine.launch(launchOne, given), what).toThrow(message)
      expect(() => fine.launch(launchOne, given), what).toThrow(ArgumentError)
    }
    expect(() => fine.launch({ grid: [1], block: [4096] }, x)).toThrow(/launching/)
    fine.launch({ grid: [0], block: [32] }, x)
    // From a thread that has called nothing of CUDA yet, and gets its memory from libtorch's cache.
    await record(['tensor'], x => fine.launch(launchOne, x)).run(x)
    await synchronize(device)
    expect(x.sum().item()).toBe(32)
  })

  test('is kept on disk once it is compiled', () => {
    const kept = readdirSync(join(cacheDirectory(), 'kernels'))
    expect(kept.some(name => name.endsWith('.cubin'))).toBe(true)
  })
})
