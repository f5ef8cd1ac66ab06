import { setImmediate } from 'node:timers/promises'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Adapter } from '../../src/model/index.js'
import { type WeightSet, WeightTurns } from '../../src/serve/weight-turns.js'

class FakeAdapter {
  isDisposed = false
  dispose(): void {
    if (this.isDisposed) throw new Error('disposed twice')
    this.isDisposed = true
  }
}

function setNamed(name: string): WeightSet & { fake: FakeAdapter } {
  const fake = new FakeAdapter()
  return { name, adapter: fake as unknown as Adapter, source: name, fake }
}

const base: WeightSet = { name: 'base', adapter: undefined, source: undefined }
const never = new AbortController().signal
const settled = async (): Promise<void> => {
  for (let i = 0; i < 5; i++) await setImmediate()
}

/** The order in which requests for sets, by their names, get their turn, each leaving when `leave` is called for it. */
function watched(used: string[] = []) {
  const turns = new WeightTurns(base, async set => {
    await setImmediate()
    used.push(set.name)
  })
  const inside: { set: WeightSet; leave: () => void }[] = []
  const enter = async (set: WeightSet, signal = never): Promise<void> => {
    const leave = await turns.enter(set, signal)
    inside.push({ set, leave })
  }
  return { turns, inside, enter, used }
}

test('those of the set in use go in together; another waits for them, and they for it', async () => {
  const a = setNamed('a')
  const { inside, enter, used } = watched()
  void enter(base)
  void enter(base)
  await settled()
  void enter(a)
  void enter(base)
  void enter(a)
  await settled()
  expect(inside.map(({ set }) => set.name)).toEqual(['base', 'base'])
  for (const { leave } of inside.splice(0)) leave()
  await settled()
  // Both, though one came after the base's.
  expect(inside.map(({ set }) => set.name)).toEqual(['a', 'a'])
  for (const { leave } of inside.splice(0)) leave()
  await settled()
  expect(inside.map(({ set }) => set.name)).toEqual(['base'])
  expect(used).toEqual(['a', 'base'])
})

test('who leaves the queue holds nobody up, and leaving twice is leaving once', async () => {
  const a = setNamed('a')
  const { turns, inside, enter } = watched()
  await enter(base)
  const gone = new AbortController()
  const refused = expect(enter(a, gone.signal)).rejects.toThrow('gone')
  void enter(base)
  await settled()
  gone.abort(new Error('gone'))
  await refused
  await settled()
  expect(inside).toHaveLength(2)
  for (const { leave } of inside.splice(0)) {
    leave()
    leave()
  }
  await turns.empty()
  await enter(base)
  expect(inside).toHaveLength(1)
})

test('a set that cannot be had fails those who asked for it, and no other', async () => {
  const a = setNamed('a')
  let isBroken = true
  const turns = new WeightTurns(base, async () => {
    if (isBroken) throw new Error('no memory')
  })
  await expect(turns.enter(a, never)).rejects.toThrow('no memory')
  isBroken = false
  for (const set of [base, a]) (await turns.enter(set, never))()
})

test('any requests in any order: one set at a time, everyone has a turn, what is retired is disposed of once', async () => {
  const steps = fc.array(
    fc.oneof(
      fc.record({ do: fc.constant('enter' as const), set: fc.nat(2) }),
      fc.record({ do: fc.constant('leave' as const), which: fc.nat(9) }),
      fc.record({ do: fc.constant('retire' as const), set: fc.integer({ min: 1, max: 2 }) }),
      fc.record({ do: fc.constant('hold' as const) }),
      fc.record({ do: fc.constant('release' as const) }),
      fc.record({ do: fc.constant('wait' as const) }),
    ),
    { maxLength: 40 },
  )
  await fc.assert(
    fc.asyncProperty(steps, async all => {
      const sets: WeightSet[] = [base, setNamed('a'), setNamed('b')]
      const made = [...sets]
      const { turns, inside, enter } = watched()
      const asked: Promise<unknown>[] = []
      for (const step of all) {
        if (step.do === 'enter') asked.push(enter(sets[step.set]!))
        else if (step.do === 'leave') inside.splice(step.which % Math.max(1, inside.length), 1)[0]?.leave()
        else if (step.do === 'retire') {
          turns.retire(sets[step.set]!)
          sets[step.set] = setNamed(`${step.set}`)
          made.push(sets[step.set]!)
        } else if (step.do === 'hold') turns.hold()
        else if (step.do === 'release') turns.release()
        else await settled()
        expect(new Set(inside.map(({ set }) => set)).size).toBeLessThanOrEqual(1)
        for (const { set } of inside) expect((set.adapter as FakeAdapter | undefined)?.isDisposed ?? false).toBe(false)
      }
      turns.release()
      for (let i = 0; i < 3 * asked.length; i++) {
        await settled()
        for (const { leave } of inside.splice(0)) leave()
      }
      await Promise.all(asked)
      await turns.empty()
      await settled()
      const retired = made.filter(set => set.adapter && !sets.includes(set))
      for (const { adapter } of retired) expect((adapter as unknown as FakeAdapter).isDisposed).toBe(true)
      for (const { adapter } of sets.slice(1)) expect((adapter as unknown as FakeAdapter).isDisposed).toBe(false)
    }),
    { numRuns: 150 },
  )
})
