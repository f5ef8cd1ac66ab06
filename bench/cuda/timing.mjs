import { synchronize } from 'whetstone/tensor'

/**
 * Seconds of one `work` on the device: what many in a row take until the device has finished. Long enough that waiting for
 * the end does not count. Of several such runs the least: starting operators keeps one core busy, and whatever else the
 * machine does there only adds.
 *
 * @param {() => unknown} work
 */
export async function deviceTime(work, seconds = 0.1, runs = 8) {
  /** @param {number} count */
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
  /** @type {number[]} */
  const found = []
  for (let i = 0; i < runs; i++) found.push((await batch(count)) / count)
  return Math.min(...found)
}
