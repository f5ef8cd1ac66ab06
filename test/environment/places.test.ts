/** Which episode gets a free place. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { Places } from '../../src/environment/places.js'

const never = new AbortController().signal
const settled = (): Promise<void> => new Promise(resolve => setImmediate(resolve))

test('a free place goes to the oldest rollout, and there to the episode that asked first', async () => {
  const places = new Places(1)
  const entered: string[] = []
  const leave: (() => void)[] = []
  const ask = (name: string, order: number): Promise<unknown> =>
    places.take(order, never).then(left => {
      entered.push(name)
      leave.push(left)
    })
  const all = [ask('0 a', 0), ask('1 a', 1), ask('1 b', 1), ask('0 b', 0), ask('2 a', 2), ask('evaluation', -1)]
  for (let i = 0; i < all.length; i++) {
    await settled()
    expect(entered).toHaveLength(i + 1)
    leave[i]!()
  }
  await Promise.all(all)
  expect(entered).toEqual(['0 a', 'evaluation', '0 b', '1 a', '1 b', '2 a'])
})

test('an episode that is given up leaves the line, and its place is not lost', async () => {
  const places = new Places(1)
  const first = await places.take(0, never)
  const stop = new AbortController()
  const given = places.take(0, stop.signal)
  const last = places.take(1, never)
  stop.abort(new Error('enough'))
  await expect(given).rejects.toThrow('enough')
  first()
  ;(await last)()
  await expect(places.take(0, stop.signal)).rejects.toThrow('enough')
  await places.take(0, never)
})

test('never more than there are places, and everyone gets one', async () => {
  const asked = fc.array(fc.record({ order: fc.nat(3), ticks: fc.nat(3), givenUp: fc.boolean() }), { maxLength: 30 })
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 1, max: 4 }), asked, async (count, episodes) => {
      const places = new Places(count)
      let [running, ended] = [0, 0]
      await Promise.all(
        episodes.map(async ({ order, ticks, givenUp }) => {
          const stop = new AbortController()
          if (givenUp) setImmediate(() => stop.abort(new Error('enough')))
          const leave = await places.take(order, stop.signal).catch(() => undefined)
          if (!leave) {
            ended++
            return
          }
          expect(++running).toBeLessThanOrEqual(count)
          for (let i = 0; i < ticks; i++) await settled()
          running--
          ended++
          leave()
        }),
      )
      expect(ended).toBe(episodes.length)
    }),
    { numRuns: 50 },
  )
})
