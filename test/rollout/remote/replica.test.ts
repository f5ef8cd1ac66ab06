/** The state machine of a server: down, trial, up. */
import { expect, test, vi } from 'vitest'
import type { Dialect, ServerFacts } from '../../../src/rollout/remote/dialect.js'
import type { EngineClient } from '../../../src/rollout/remote/engine-client.js'
import { Replica } from '../../../src/rollout/remote/replica.js'
import type { RunningAttempt } from '../../../src/rollout/remote/running-attempt.js'

const url = 'http://127.0.0.1:8000'
const facts = { software: '1.0', control: 'full', marksVersions: true } as ServerFacts

function made(maxInFlight = 2) {
  const events: string[] = []
  const replica = new Replica({ url } as EngineClient, {
    dialect: { type: 'vllm', sleep: async () => {}, wake: async () => {} } as Partial<Dialect> as Dialect,
    maxInFlight,
    onEvent: ({ kind, message }) => events.push(`${kind}: ${message}`),
  })
  const attempt = (): RunningAttempt => {
    const running = { startedAt: performance.now(), cancel: vi.fn() } as unknown as RunningAttempt
    replica.begin(running)
    return running
  }
  const connect = (): void => {
    replica.learn(facts)
    replica.has(0, 'default')
    replica.connected()
  }
  return { replica, events, attempt, connect }
}
const now = (): number => performance.now()

test('down until it is connected; then up, with room for its requests', () => {
  const { replica, events, attempt, connect } = made()
  expect([replica.state, replica.isConnected, replica.hasRoom(now())]).toEqual(['down', false, false])
  connect()
  expect([replica.state, replica.isConnected, replica.hasRoom(now())]).toEqual(['up', true, true])
  const first = attempt()
  attempt()
  expect(replica.hasRoom(now())).toBe(false)
  replica.end(first)
  expect(replica.hasRoom(now())).toBe(true)
  expect(events).toEqual(['connected: vllm 1.0'])
})

test('drained once: requests are cancelled; back by a trial of one request', () => {
  const { replica, events, attempt, connect } = made()
  connect()
  const running = attempt()
  replica.drain('no answer')
  replica.drain('again')
  expect(running.cancel).toHaveBeenCalledExactlyOnceWith('drained')
  expect([replica.state, replica.downReason, replica.hasRoom(now())]).toEqual(['down', 'no answer', false])
  replica.end(running)
  replica.recovered()
  expect([replica.state, replica.hasRoom(now())]).toEqual(['trial', true])
  const trial = attempt()
  expect(replica.hasRoom(now())).toBe(false)
  replica.succeeded(trial, 4)
  expect([replica.state, replica.hasRoom(now())]).toEqual(['up', true])
  expect(replica.msPerToken).toBeGreaterThanOrEqual(0)
  expect(events.slice(1)).toEqual(['drained: no answer', 'back: takes work again'])
})

test('each failed recovery doubles the time until the next; a success starts anew', () => {
  const { replica, events, attempt, connect } = made()
  connect()
  const pauses: number[] = []
  const paused = (): void => {
    const at = now()
    pauses.push([500, 1500, 3000, 6000, 40_000].find(ms => replica.isDue(at + ms))!)
  }
  replica.drain('gone')
  paused()
  replica.stayDown('gone', 'unreachable')
  paused()
  replica.stayDown('other model', 'refused')
  paused()
  replica.recovered()
  replica.succeeded(attempt(), 0)
  replica.drain('gone again')
  paused()
  expect(pauses).toEqual([1500, 3000, 6000, 1500])
  // A server that is still unreachable is not reported again.
  expect(events.slice(1)).toEqual([
    'drained: gone',
    'drained: other model',
    'back: takes work again',
    'drained: gone again',
  ])
})

test('no work without the current weights, while it is checked, or before the time it asked for', async () => {
  const { replica, connect } = made()
  connect()
  replica.forgetVersion()
  expect(replica.hasRoom(now())).toBe(false)
  replica.refuse('it refused the update')
  expect([replica.version, replica.unusable]).toEqual([undefined, 'it refused the update'])
  replica.gave(1, '1-mark', { adapter: 'policy@1', instance: undefined })
  expect([replica.version, replica.adapter, replica.unusable]).toEqual([1, 'policy@1', undefined])
  expect([replica.versionOf('1-mark'), replica.versionOf('default'), replica.versionOf('2')]).toEqual([1, 0, undefined])
  const ended = vi.fn()
  replica.check(Promise.resolve(), ended)
  expect(replica.hasRoom(now())).toBe(false)
  await replica.checking
  expect([replica.hasRoom(now()), ended.mock.calls.length]).toEqual([true, 1])
  expect(replica.backOff(1)).toBe(50)
  expect([replica.hasRoom(now()), replica.hasRoom(now() + 60)]).toEqual([false, true])
  replica.check(Promise.reject(new Error('other weights')), ended)
  await replica.checking
  expect([replica.state, replica.downReason]).toEqual(['down', 'other weights'])
})

test('asleep until it is woken, or another process answers in its place', async () => {
  const { replica, connect } = made()
  connect()
  await replica.sleep()
  expect(replica.isAsleep).toBe(true)
  await replica.wake()
  expect(replica.isAsleep).toBe(false)
  await replica.sleep()
  replica.restarted()
  expect(replica.isAsleep).toBe(false)
})
