/**
 * The process of a reward file. It loads the file and answers calls in order (async ones run concurrently). It reports when it
 * starts a call, so that a call that never returns can be identified.
 */
import { Worker } from 'node:worker_threads'
import { checkAnswers } from '../check-answers.js'
import { SourceError } from '../errors.js'
import type { LoadedFile } from '../load-module.js'
import type { FromChild, ToChild } from './messages.js'
import { sentError } from './sent-error.js'

export type ChildSend = (message: FromChild) => void

type Call = Extract<ToChild, { kind: 'call' }>

const send: ChildSend = message => process.send?.(message)
const queue: Call[] = []
const running = new Map<number, AbortController>()
let loaded: LoadedFile | undefined
let loading = false
let pumping = false

process.on('message', (message: ToChild) => {
  switch (message.kind) {
    case 'load':
      void load(message)
      return
    case 'call':
      queue.push(message)
      if (!pumping) void pump()
      return
    case 'abort':
      abort(message.id)
      send({ kind: 'alive' })
      return
    case 'event':
      loaded?.events[message.name]?.(message.event)
      return
    case 'close':
      void close()
  }
})

// Ignore Ctrl-C: the parent process ends this one.
for (const signal of ['SIGINT', 'SIGHUP'] as const) process.on(signal, () => {})
// The parent shows warnings as lines of its own; Node's form would go over a line that the parent redraws.
process.removeAllListeners('warning')
process.on('warning', ({ name, message, ...rest }) =>
  send({ kind: 'warning', name, message, code: (rest as { code?: string }).code }),
)
process.on('disconnect', () => process.exit(0))
process.on('unhandledRejection', error => send({ kind: 'stray', error: sentError(error) }))
process.on('uncaughtException', error => {
  process.send!({ kind: 'stray', error: sentError(error) } satisfies FromChild, () => process.exit(1))
})
// The event loop is empty: the file awaits a promise that never settles.
process.on('beforeExit', () => {
  if (!loading) return
  const message = 'its top-level await never ends'
  process.send!({ kind: 'refused', error: { name: 'Error', message, stack: undefined } } satisfies FromChild, () =>
    process.exit(1),
  )
})
endWithParent()

async function load({ file, tokenizer }: Extract<ToChild, { kind: 'load' }>): Promise<void> {
  loading = true
  // Otherwise our own handles would keep the process alive forever.
  process.channel?.unref()
  try {
    const { loadFile } = await import('../load-module.js')
    loaded = await loadFile(file, { tokenizer })
    send({ kind: 'loaded', description: loaded.description })
  } catch (error) {
    send({ kind: 'refused', error: sentError(error) })
  } finally {
    loading = false
    process.channel?.ref()
  }
}

/** While calls that do not wait follow each other, messages are read this often. */
const turnMs = 8
const nextTurn = (): Promise<void> => new Promise(resolve => setImmediate(resolve))

async function pump(): Promise<void> {
  pumping = true
  let turn = performance.now()
  for (let call = queue.shift(); call; call = queue.shift()) {
    let over = false
    const answered = answer(call).finally(() => {
      over = true
    })
    // What does not wait for anything is there after a few microtasks, however many promises it goes through.
    for (let hop = 0; hop < 16 && !over; hop++) await undefined
    if (!over) {
      await Promise.race([answered, nextTurn()])
      turn = performance.now()
      if (!over) send({ kind: 'waiting', id: call.id })
    } else if (performance.now() - turn > turnMs) {
      await nextTurn()
      turn = performance.now()
    }
  }
  pumping = false
}

async function answer({ id, source, items }: Call): Promise<void> {
  const controller = new AbortController()
  running.set(id, controller)
  try {
    const asked = loaded!.sources[source]!
    const answers = await asked.score(items as never, { signal: controller.signal })
    // A value that cannot be sent, such as a function, is not a reward.
    send({ kind: 'done', id, outcomes: checkAnswers(asked.name, items.length, answers) })
  } catch (error) {
    send({ kind: 'failed', id, error: sentError(error) })
  } finally {
    running.delete(id)
  }
}

function abort(id: number): void {
  const place = queue.findIndex(call => call.id === id)
  if (place >= 0) {
    queue.splice(place, 1)
    send({ kind: 'failed', id, error: sentError(new SourceError('aborted', 'not wanted any more')) })
  } else running.get(id)?.abort(new SourceError('aborted', 'not wanted any more'))
}

async function close(): Promise<void> {
  await Promise.allSettled((loaded?.sources ?? []).map(source => source.close?.()))
  process.send!({ kind: 'closed' } satisfies FromChild, () => process.exit(0))
}

/** A thread that ends this process when its parent is gone: blocked code cannot notice that the channel closed. */
function endWithParent(): void {
  const watch = `
    const { workerData } = require('node:worker_threads')
    setInterval(() => { if (process.ppid !== workerData) process.kill(process.pid, 'SIGKILL') }, 500)
  `
  new Worker(watch, { eval: true, workerData: process.ppid, stdout: false, stderr: false }).unref()
}
