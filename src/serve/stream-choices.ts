/** The events of a streamed answer: one for each token, in the order of each choice, then the usage, then the end. */
import type { Sample, TokenEvent } from '../rollout/index.js'
import { ApiError } from './errors.js'
import { EventStream } from './event-stream.js'
import type { Exchange, Served } from './exchange.js'
import { Fields } from './fields.js'
import { type Generation, runGeneration, usage } from './run-request.js'

export interface Chunk {
  index: number
  /** Undefined where a choice ends without a token, cancelled. */
  event: TokenEvent | undefined
  /** With the last token. */
  completion: Sample | undefined
  /** Of this choice. */
  first: boolean
  promptIds: Int32Array
}

export interface StreamShape {
  head: object
  /** Events before any token. */
  opening?: readonly object[]
  chunk(chunk: Chunk): Promise<object>
}

export async function streamChoices(
  served: Served,
  exchange: Exchange,
  request: Generation & { fields: Fields },
  { head, opening = [], chunk }: StreamShape,
): Promise<void> {
  const { n } = request.sampling
  const options = new Fields(request.fields.object('stream_options') ?? {})
  const wantsUsage = options.flag('include_usage') ?? false
  const events = new EventStream(exchange.response)
  for (const choice of opening) events.send({ ...head, choices: [choice] })
  const found: Sample[] = []
  const started = new Set<number>()
  // A token waits for the end of the turn it came in: if it was the last, that is said with it.
  const waiting = new Map<number, TokenEvent>()
  let sent: Promise<void> = Promise.resolve()
  const send = (index: number, completion: Sample | undefined): void => {
    const event = waiting.get(index)
    if (!event && !completion) return
    waiting.delete(index)
    const first = !started.has(index)
    started.add(index)
    const promptIds = request.prompts[Math.floor(index / n)]!
    sent = sent.then(async () => {
      const shown = await chunk({ index, event, completion, first, promptIds })
      events.send({ ...head, choices: [shown], ...(wantsUsage ? { usage: null } : {}) })
    })
  }
  try {
    await runGeneration(
      served.engine,
      request,
      {
        onToken: (prompt, event) => {
          const index = prompt * n + event.sample
          waiting.set(index, event)
          queueMicrotask(() => send(index, undefined))
        },
        onCompletion: (prompt, completion) => {
          const index = prompt * n + completion.sample
          found[index] = completion
          send(index, completion)
        },
      },
      exchange.signal,
    )
    await sent
    if (wantsUsage) events.send({ ...head, choices: [], usage: usage(found, request) })
  } catch (error) {
    // The status is sent already: an error is an event.
    await sent.catch(() => {})
    events.send((error instanceof ApiError ? error : new ApiError(500, 'the request failed')).body)
  }
  events.end()
}
