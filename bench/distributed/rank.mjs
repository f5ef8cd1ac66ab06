/** One of the ranks 1, 2, ... of the bench:   node rank.mjs OPTIONS */

import { threads } from 'whetstone/tensor'
import { serveRank } from '#whetstone/distributed'

threads(1)
await serveRank(JSON.parse(process.argv[2] ?? ''))
process.exit(0)
