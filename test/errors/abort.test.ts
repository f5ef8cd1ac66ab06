import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { expect, test } from 'vitest'
import { linkedController } from '../../src/errors/index.js'

test('a linked controller is aborted by any of its signals, with the reason, and by itself', () => {
  const [one, two] = [new AbortController(), new AbortController()]
  const reason = new Error('enough')
  const linked = linkedController([undefined, one.signal, two.signal])
  two.abort(reason)
  expect(linked.signal.reason).toBe(reason)
  expect(linkedController([two.signal, one.signal]).signal.reason).toBe(reason)
  const own = linkedController([one.signal])
  own.abort(reason)
  expect(own.signal.aborted).toBe(true)
  expect(one.signal.aborted).toBe(false)
})

test('an unlinked controller is not aborted any more, and its listeners are collected while the signal lives', async () => {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  const run = new AbortController()
  let called = 0
  const made = Array.from({ length: 100 }, () => {
    const linked = linkedController([run.signal])
    linked.signal.addEventListener('abort', () => called++)
    linked.unlink()
    return new WeakRef(linked.signal)
  })
  // References stay until the turn of the event loop in which they were made is over.
  await new Promise(resolve => setTimeout(resolve, 0))
  collect()
  // The stack may still hold the last one. AbortSignal.any keeps all hundred.
  expect(made.filter(one => one.deref() !== undefined).length).toBeLessThan(5)
  run.abort()
  expect(called).toBe(0)
})
