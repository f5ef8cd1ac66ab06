import { setImmediate } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect } from 'vitest'
import { memoryUse } from '../../src/tensor/index.js'

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

/** What is held once everything that can be collected is: views of freed memory, and what an earlier test left behind. */
export async function heldMemory(): Promise<{ liveTensors: number; bytes: number }> {
  for (let round = 0; round < 3; round++) {
    collect()
    await setImmediate()
  }
  const { liveTensors, bytes } = memoryUse()
  return { liveTensors, bytes }
}

/**
 * No more is held than before: tensors at once, without the collector's help. It may be less, where the collector found what
 * an earlier test left behind.
 */
export async function expectHeld(before: { liveTensors: number; bytes: number }): Promise<void> {
  expect(memoryUse().liveTensors).toBeLessThanOrEqual(before.liveTensors)
  const { liveTensors, bytes } = await heldMemory()
  expect(liveTensors).toBeLessThanOrEqual(before.liveTensors)
  expect(bytes).toBeLessThanOrEqual(before.bytes)
}
