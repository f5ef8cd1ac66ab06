/** Many episodes at a time: oldest first, each started again in a new session after a fault, each recorded. */
import { createHash } from 'node:crypto'
import { linkedController } from '../errors/index.js'
import type { EpisodeKey, Task } from './environment.js'
import type { EpisodeOutcome } from './episode.js'
import { EnvironmentError } from './errors.js'
import type { EpisodeJournalRecord } from './journal.js'
import { endRecord, historyOf, restoredOutcome } from './recorded.js'
import { type EpisodeWorld, runAttempt } from './run-attempt.js'

export interface AskedEpisode {
  readonly task: Task
  readonly promptId: string
  readonly sample: number
}

type Ended = { readonly asked: AskedEpisode; readonly outcome: EpisodeOutcome }

/** Outcomes in the order they come. An episode starts when it has a place: older rollouts first, and earlier episodes of a rollout first. */
export async function* runEpisodes(
  world: EpisodeWorld,
  asked: readonly AskedEpisode[],
  { signal }: { readonly signal: AbortSignal },
): AsyncGenerator<Ended> {
  // What ends the reading of outcomes ends all episodes: an engine that is gone, or a reader that stops.
  const stop = linkedController([signal])
  const ended: Ended[] = []
  let failure: { readonly error: unknown } | undefined
  let wake = (): void => {}
  const running = asked.map(async one => {
    try {
      ended.push({ asked: one, outcome: await inPlace(world, one, stop.signal) })
    } catch (error) {
      failure ??= { error }
    }
    wake()
  })
  try {
    for (let left = asked.length; left > 0; left--) {
      while (ended.length === 0 && !failure) await new Promise<void>(resolve => (wake = resolve))
      if (failure) throw failure.error
      yield ended.shift()!
    }
  } finally {
    stop.abort(new Error('the other episodes ended'))
    stop.unlink()
    await Promise.all(running)
  }
}

async function inPlace(world: EpisodeWorld, one: AskedEpisode, signal: AbortSignal): Promise<EpisodeOutcome> {
  const leave = await world.places.take(world.order, signal)
  try {
    return await runEpisode(world, one, signal)
  } finally {
    leave()
  }
}

/** One episode with all its attempts. What a journal has of it is not run again. */
export async function runEpisode(
  world: EpisodeWorld,
  { task, promptId, sample }: AskedEpisode,
  signal: AbortSignal,
): Promise<EpisodeOutcome> {
  const { journal, limits } = world
  const records = journal?.episodeRecords({ promptId, sample }) ?? []
  const history = historyOf(records)
  if (history?.end) return restoredOutcome(history.end, records, world)
  let recorded = history?.attempt
  if (recorded) refuseAnother(world, records)
  for (let attempt = recorded?.attempt ?? 0; ; attempt++) {
    signal.throwIfAborted()
    const key: EpisodeKey = { promptId, sample, attempt }
    const outcome = await attemptOf(world, { task, key, recorded, signal })
    recorded = undefined
    // A new session does not repair the engine.
    if (outcome.kind === 'failed' && outcome.at !== 'generator' && attempt < limits.retries) {
      const { at, message } = outcome
      await journal?.keepEpisode({ kind: 'attempt-failed', ...key, at, message })
      continue
    }
    await journal?.keepEpisode(endRecord(outcome))
    return outcome
  }
}

/** An episode goes on with what it began with. */
function refuseAnother({ environment, identity }: EpisodeWorld, records: readonly EpisodeJournalRecord[]): void {
  const opened = records.findLast(record => record.kind === 'episode-opened')
  if (!opened) return
  const now: Record<string, string> = { environment: environment.name, version: environment.version, ...identity }
  const before = opened as unknown as Record<string, string>
  const changed = ['environment', 'version', 'tools', 'template'].filter(name => before[name] !== now[name])
  if (changed.length > 0)
    throw new EnvironmentError(
      `an episode of prompt ${opened.promptId} began with another environment: ${changed.map(name => `${name} ${before[name]}, now ${now[name]}`).join('; ')}`,
      { remedy: 'Use the same environment, tools and chat template as at the start, or start a new run.' },
    )
}

async function attemptOf(
  world: EpisodeWorld,
  { task, key, recorded, signal }: Pick<Parameters<typeof runAttempt>[1], 'task' | 'key' | 'recorded' | 'signal'>,
): Promise<EpisodeOutcome> {
  const { environment, journal, identity, limits } = world
  const call = recorded?.onceCall(limits)
  if (call)
    return {
      kind: 'failed',
      key,
      at: 'effect-unknown',
      message: `the run ended after a call of the tool ${call.name}, which must not be repeated`,
    }
  if (!recorded?.isOpened)
    await journal?.keepEpisode({
      kind: 'episode-opened',
      ...key,
      environment: environment.name,
      version: environment.version,
      ...identity,
    })
  return runAttempt(world, { task, key, recorded, seed: environmentSeed(world.sampling.seed, key.promptId), signal })
}

/** The same for all samples and attempts of a prompt: they get the same task. */
function environmentSeed(seed: number, promptId: string): number {
  return createHash('sha256')
    .update(JSON.stringify([seed, promptId]))
    .digest()
    .readUInt32LE(0)
}
