/** One attempt of an agent that owns the loop: it asks the policy as often as it likes, and the calls become an episode. */
import { linkedController } from '../../errors/index.js'
import type { AgentSession, EpisodeKey } from '../environment.js'
import type { Limit, Stop, Turn } from '../episode.js'
import type { EpisodeClock } from '../episode-clock.js'
import { Fault, OutOfTime } from '../fault.js'
import type { EpisodeWorld } from '../run-attempt.js'
import { callId } from '../tool-calls.js'
import { PolicyError, Recorder } from './recorder.js'

/** What an agent left: its turns are in `turns`. */
interface RecordedAgent {
  readonly stop: Stop
  readonly sideCalls: number
}

/** The clock of the episode ends an agent, not this. */
const longest = 2 ** 31 - 1

class LimitReached extends Error {
  override readonly name = 'LimitReached'
  constructor(readonly limit: Limit) {
    super(`the limit of ${limit}`)
  }
}

/**
 * Fills `turns`, also where it throws. A program is started again as a whole: it cannot go on where it was killed. So its start is
 * recorded as a call with an effect, and its turns at its end.
 */
export async function recordAgent(
  world: EpisodeWorld,
  session: AgentSession,
  {
    key,
    signal,
    turns,
    clock,
  }: {
    readonly key: EpisodeKey
    readonly signal: AbortSignal
    readonly turns: Turn[]
    readonly clock: EpisodeClock
  },
): Promise<RecordedAgent> {
  const { limits, journal, environment } = world
  const recorder = new Recorder(
    {
      ...world,
      sample: (request, aborted) => clock.pausedFor(() => world.turns.sample(request, aborted)),
      release: name => world.turns.release(name),
    },
    key,
  )
  const stopping = linkedController([signal])
  let timer: NodeJS.Timeout | undefined
  // An agent that hears of a limit may still write down what it has.
  recorder.onStopped(() => {
    const { limit, failure } = recorder
    if (failure) stopping.abort(failure.error)
    else timer ??= setTimeout(() => stopping.abort(new LimitReached(limit!)), 1000 * limits.stepSeconds)
  })
  const { effect = 'once' } = session
  await journal?.keepEpisode({ kind: 'call', ...key, turn: 0, id: callId(key, 0, 0), name: environment.name, effect })
  let reward: number | undefined
  let stop: Stop = 'done'
  let sideCalls = 0
  try {
    const what = `the agent ${environment.name}`
    const limit = { at: 'step', what, milliseconds: longest, signal: stopping.signal } as const
    const ended = await Fault.within(limit, limited => session.run(recorder, limited))
    reward = ended?.reward
    if (reward !== undefined && !Number.isFinite(reward))
      throw new Fault('step', `${what}: expected a finite reward or none, got ${reward}`)
  } catch (error) {
    if (recorder.failure) throw engineFault(recorder.failure.error)
    if (error instanceof OutOfTime) stop = 'time'
    // A program that a limit refused may end with an error of its own: the limit is the outcome.
    else if (signal.aborted || recorder.limit === undefined) throw error
  } finally {
    clearTimeout(timer)
    stopping.unlink()
    recorder.end()
    const line = recorder.line()
    turns.push(...line.turns)
    sideCalls = line.sideCalls
  }
  if (recorder.failure) throw engineFault(recorder.failure.error)
  const last = turns.at(-1)
  if (!last) throw new Fault('start', `the agent ${environment.name} ended without a turn of the policy`)
  turns[turns.length - 1] = { ...last, reward }
  for (const [turn, one] of turns.entries()) {
    const { segment, observationIds, messages, completion } = one
    await journal?.keepEpisode({ kind: 'turn', ...key, turn, segment, observationIds, messages, completion })
  }
  return { stop: recorder.limit ?? stop, sideCalls }
}

/** An engine that cannot be reached is no fault of the attempt. */
const engineFault = (error: unknown): unknown =>
  error instanceof PolicyError ? new Fault('generator', error.message, { cause: error }) : error
