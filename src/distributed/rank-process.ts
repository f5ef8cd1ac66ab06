/** The process of a rank that another process of this machine started: `node rank-process.js OPTIONS PROCESS`, the process that started it. */

import { endWithParent } from '../tensor/index.js'
import { endingProcess } from './end-process.js'
import type { RankOptions } from './rank.js'
import { serveRank } from './rank-worker.js'

/** What the command line has, as JSON. */
export type RankProcessOptions = RankOptions

// However rank 0 ends, also before the ranks know each other.
if (endWithParent() !== Number(process.argv[3])) process.exit(1)
await endingProcess(joined => {
  // Its parent hears the same signals.
  joined()
  return serveRank(JSON.parse(process.argv[2]!) as RankProcessOptions)
})
