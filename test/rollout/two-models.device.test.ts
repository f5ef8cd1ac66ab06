/** Two models whose sum does not fit take turns on one device: an engine sleeps, its model moves away, the other takes what is free. */
import { expect, test } from 'vitest'
import { type DeviceMemory, LocalEngine } from '../../src/rollout/index.js'
import { memoryUse, synchronize } from '../../src/tensor/index.js'
import { device, onCuda } from '../support/device.js'
import { deviceModel } from '../support/device-model.js'
import { collect, numbers } from '../support/generation.js'

const dtype = onCuda ? 'bfloat16' : 'float32'
const settle = async (): Promise<void> => {
  if (onCuda) await synchronize(device)
}

/** cuBLAS keeps a work space for every stream it has worked on: 32 MiB on a Hopper card. */
const libraryBytes = 36 * 2 ** 20

test('by a budget of one and a half', async () => {
  // The libraries take their work space once, whoever comes first.
  const warm = await deviceModel({ dtype })
  await warm.score([Int32Array.of(3, 4, 5)])
  warm.dispose()
  await settle()
  let start = memoryUse(device).bytes
  const first = await deviceModel({ dtype, seed: 1 })
  await settle()
  const weights = memoryUse(device).bytes - start
  const budget = Math.floor(1.5 * weights)
  // The CPU's memory is also where a model moves to, so there the weights on the device are counted by whose turn it is.
  let present = 1
  const memory: DeviceMemory = {
    freeBytes: () => Math.max(0, budget - (onCuda ? memoryUse(device).bytes - start : present * weights)),
  }
  const options = { cacheShare: 0.5, memory, maxSequences: onCuda ? 64 : 4, maxLength: onCuda ? 512 : 64 }
  const next = numbers(2)
  const requests = Array.from({ length: 4 }, (_, i) => ({
    id: `${i}`,
    promptIds: Int32Array.from({ length: 5 + next(8) }, () => 3 + next(30)),
    sampling: { seed: 4, temperature: 0, maxNewTokens: 8, ignoreEos: true },
  }))
  const responses = async (engine: LocalEngine): Promise<number[][]> =>
    [...(await collect(engine, requests)).values()].map(({ responseIds }) => [...responseIds])

  const firstEngine = new LocalEngine(first, options)
  const firstBlocks = firstEngine.counts.blocks
  const said = await responses(firstEngine)
  expect(() => new LocalEngine(first, { ...options, memory: { freeBytes: () => 0 } })).toThrow(/too small/)

  await firstEngine.sleep()
  await first.offload()
  present--
  await settle()
  if (onCuda) {
    expect(memoryUse(device).bytes - start, 'left of the first').toBeLessThan(0.05 * weights + libraryBytes)
    // What the libraries keep is nobody's: it is there again for whoever comes next.
    start = memoryUse(device).bytes
  }

  // Both together would not have fitted: 2 of 1.5.
  const second = await deviceModel({ dtype, seed: 2 })
  present++
  const secondEngine = new LocalEngine(second, options)
  // What is free is looked at now: as much as the first one found.
  expect(secondEngine.counts.blocks).toBeGreaterThanOrEqual(Math.floor(0.9 * firstBlocks))
  const saidByOther = await responses(secondEngine)
  expect(saidByOther).not.toEqual(said)
  await settle()
  if (onCuda) expect(memoryUse(device).bytes - start).toBeLessThan(budget + libraryBytes)
  // An engine does not wake over a model that is away.
  await expect(firstEngine.wake()).rejects.toThrow(/offload|reload/)

  await secondEngine.sleep()
  await second.offload()
  present--
  await first.reload()
  present++
  await firstEngine.wake()
  expect(await responses(firstEngine)).toEqual(said)
  for (const engine of [firstEngine, secondEngine]) await engine.close()
  for (const model of [first, second]) model.dispose()
})
