/** 1 where the last number of the answer is the sum. */
import { defineReward } from 'whetstone/reward'
import { z } from 'zod'

export default defineReward(z.object({ target: z.string() }), ({ response, row }) =>
  response.match(/\d+/g)?.at(-1) === row.target ? 1 : 0,
)
