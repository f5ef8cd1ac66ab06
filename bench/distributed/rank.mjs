/** One of the ranks 1, 2, ... of the bench:   node rank.mjs OPTIONS */

import { Tensor, threads } from 'whetstone/tensor'
import { serveRank } from '#whetstone/distributed'

threads(1)
/** @type {Tensor | undefined} */
let gradients
await serveRank({
  ...JSON.parse(process.argv[2] ?? ''),
  handlers: ({ group }) => ({
    'bench.allReduce': async ({ body }) => {
      const shape = [Number(body)]
      gradients ??= Tensor.from(new Float32Array(Number(body)), { shape, dtype: 'float32', device: 'cpu' })
      await group.allReduce(gradients)
      return undefined
    },
  }),
})
process.exit(0)
