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

/** Outcomes in the order they come. The world's limits decide how many episodes run at a time; earlier ones start first. */
export async function* runEpisodes(
  world: EpisodeWorld,
  asked: readonly AskedEpisode[],
  { signal }: { readonly signal: AbortSignal },
): AsyncGenerator<{ readonly asked: AskedEpisode; readonly outcome: EpisodeOutcome }> {
  // What ends the reading of outcomes ends all episodes: an engine that is gone, or a reader that stops.
  const stop = linkedController([signal])
  const running = new Map<AskedEpisode, Promise<{ readonly asked: AskedEpisode; readonly outcome: EpisodeOutcome }>>()
  let next = 0
  try {
    while (next < asked.length || running.size > 0) {
      while (next < asked.length && running.size < world.limits.concurrency) {
        const one = asked[next++]!
        const ended = runEpisode(world, one, stop.signal).then(outcome => ({ asked: one, outcome }))
        running.set(one, ended)
      }
      const ended = await Promise.race(running.values())
      running.delete(ended.asked)
      yield ended
    }
  } finally {
    stop.abort(new Error('the other episodes ended'))
    stop.unlink()
    await Promise.allSettled(running.values())
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
  const { environment, journal, identity } = world
  const call = recorded?.onceCall
  if (call)
    return {
      kind: 'failed',
      key,
      at: 'effect-unknown',
      message: `the run ended after a call of the tool ${call.name}, which must not be repeated`,
    }
  if (!recorded)
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
