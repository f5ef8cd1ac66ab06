import { synchronize } from '../../dist/tensor/index.js'
import { median } from '../harness.mjs'

/**
 * Seconds of one `work` on the device: what many in a row take until the device has finished, the median of several such
 * runs. Long enough that waiting for the end does not count.
 *
 * @param {() => unknown} work
 */
export async function deviceTime(work, seconds = 0.1, runs = 5) {
  const batch = async count => {
    const start = performance.now()
    for (let i = 0; i < count; i++) {
      const running = work()
      if (running instanceof Promise) await running
    }
    await synchronize()
    return (performance.now() - start) / 1e3
  }
  await batch(2)
  const count = Math.max(2, Math.ceil(seconds / ((await batch(3)) / 3)))
  const found = []
  for (let i = 0; i < runs; i++) found.push((await batch(count)) / count)
  return median(found)
}
