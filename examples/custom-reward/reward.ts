import { defineReward } from 'whetstone/reward'
import { z } from 'zod'

/** Columns that every row of the data should have. */
const row = z.object({ mention: z.array(z.string()).min(1), maxWords: z.number().default(20) })

/** From 0 to 1: the share of the words that the answer mentions, less what it is too long by. */
export default defineReward(
  row,
  ({ response, row: { mention, maxWords } }) => {
    const words = response.toLowerCase().match(/\p{L}+/gu) ?? []
    const mentioned = mention.filter(word => words.includes(word.toLowerCase())).length / mention.length
    const tooLong = Math.min(1, Math.max(0, words.length / maxWords - 1))
    return { reward: Math.max(0, mentioned - tooLong), metrics: { mentioned, words: words.length } }
  },
  { name: 'mentions' },
)
