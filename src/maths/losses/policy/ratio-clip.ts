import { z } from 'zod'

/**
 * Options of losses that clip the ratio. Exactly at a clipping bound a token is not clipped: it has a gradient and does not count
 * as clipped.
 */
export const ratioClip = {
  clipLow: z
    .number()
    .min(0)
    .max(1)
    .default(0.2)
    .describe('lower clipping bound: the ratio is clipped to at least 1 - clipLow'),
  clipHigh: z
    .number()
    .min(0)
    .default(0.2)
    .describe('upper clipping bound: the ratio is clipped to at most 1 + clipHigh'),
}
