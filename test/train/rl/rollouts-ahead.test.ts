import { setTimeout as delay } from 'node:timers/promises'
import { expect, test, vi } from 'vitest'
import { RolloutsAhead } from '../../../src/train/rl/rollouts-ahead.js'

function watched({ ahead, end, first = 0 }: { ahead: number; end: number; first?: number }) {
  const begun: number[] = []
  let under = 0
  const rollouts = new RolloutsAhead({
    first,
    end,
    ahead,
    start: 'in-turn',
    draw: async iteration => iteration,
    make: async (iteration, _, signal) => {
      begun.push(iteration)
      expect(++under, 'one after another').toBe(1)
      await delay(1)
      under--
      signal.throwIfAborted()
      return `rollout ${iteration}`
    },
  })
  return { begun, rollouts }
}

test('without staleness a rollout begins when it is its turn', async () => {
  const { begun, rollouts } = watched({ ahead: 0, end: 3 })
  for (const iteration of [0, 1, 2]) {
    expect(await rollouts.take(iteration)).toBe(`rollout ${iteration}`)
    await delay(5)
    expect(begun.at(-1)).toBe(iteration)
  }
})

test('the next ones are begun while one is trained on, no more than allowed and none after the last', async () => {
  const { begun, rollouts } = watched({ ahead: 2, end: 5, first: 1 })
  expect(await rollouts.take(1)).toBe('rollout 1')
  await vi.waitFor(() => expect(rollouts.ready).toBe(2))
  await delay(20)
  expect(begun).toEqual([1, 2, 3])
  for (const [iteration, ready] of [
    [2, 2],
    [3, 1],
    [4, 0],
  ] as const) {
    expect(rollouts.ready, `before ${iteration}`).toBe(ready)
    expect(await rollouts.take(iteration)).toBe(`rollout ${iteration}`)
  }
  await delay(20)
  expect(begun).toEqual([1, 2, 3, 4])
})

test('an error is told to whoever takes that rollout, and to nobody before', async () => {
  const rollouts = new RolloutsAhead({
    first: 0,
    end: 9,
    ahead: 1,
    start: 'in-turn',
    draw: async iteration => iteration,
    make: async iteration => {
      if (iteration === 1) throw new Error('the engine is gone')
      return iteration
    },
  })
  expect(await rollouts.take(0)).toBe(0)
  await delay(5)
  await expect(rollouts.take(1)).rejects.toThrow('the engine is gone')
})

test('stop ends what was begun', async () => {
  const { begun, rollouts } = watched({ ahead: 3, end: 9 })
  await rollouts.take(0)
  await rollouts.stop()
  await delay(10)
  expect(begun).toEqual([0, 1])
})

test('together: prompts are drawn in order, and a slow rollout holds up none that is allowed', async () => {
  const drawn: number[] = []
  const ends = new Map<number, () => void>()
  const rollouts = new RolloutsAhead({
    first: 0,
    end: 5,
    ahead: 2,
    start: 'together',
    draw: async iteration => {
      await delay(iteration === 0 ? 5 : 1)
      drawn.push(iteration)
      return iteration
    },
    make: iteration => new Promise<string>(resolve => ends.set(iteration, () => resolve(`rollout ${iteration}`))),
  })
  const first = rollouts.take(0)
  await vi.waitFor(() => expect(ends.size).toBe(3))
  await delay(5)
  expect(drawn).toEqual([0, 1, 2])
  ends.get(2)!()
  ends.get(1)!()
  ends.get(0)!()
  expect(await first).toBe('rollout 0')
  await delay(5)
  expect(drawn, 'the update of iteration 0 comes before iteration 3').toEqual([0, 1, 2])
  expect(await rollouts.take(1)).toBe('rollout 1')
  expect(await rollouts.take(2)).toBe('rollout 2')
  await vi.waitFor(() => expect(drawn).toEqual([0, 1, 2, 3, 4]))
})
