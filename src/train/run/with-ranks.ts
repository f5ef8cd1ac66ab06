/** A training with the ranks that its config and the environment ask for. */
import { type DeviceChoice, launchedRank, Ranks } from '../../distributed/index.js'
import { InputError } from '../../errors/index.js'
import type { JobOptions, JobResult, LiveParts } from './job.js'
import { copyHere } from './load-model.js'

/** Ranks that the job starts end with it; those of a launcher are there before anything is checked. */
export function withRanks<C extends DeviceChoice>(
  run: (job: JobOptions<C>) => Promise<JobResult>,
): (job: JobOptions<C>) => Promise<JobResult> {
  return async job => {
    // A dry run may be for another machine.
    if (job.ranks || (job.purpose === 'check' && !launchedRank(process.env))) return run(job)
    const ranks = await Ranks.of(job.config, job.signal)
    // A run may be waiting for a server of rewards when a rank is lost.
    const lost = new AbortController()
    ranks.onFailure(() => lost.abort())
    try {
      if (ranks.size > 1) refuseLive(job.live)
      return await run({ ...job, ranks, signal: AbortSignal.any([job.signal, lost.signal]) })
    } finally {
      await ranks.close()
    }
  }
}

/** A model of the program has no copy on other ranks. */
function refuseLive({ model, reference, critic }: LiveParts = {}): void {
  for (const [option, live] of Object.entries({ model, reference, 'critic.model': critic }))
    if (live && copyHere(live) === live)
      throw new InputError(`${option}: a model of this process, and other ranks have no copy of it; give its directory`)
}
