import { z } from 'zod'

export const beta = z
  .number()
  .positive()
  .default(0.1)
  .describe('strength of the penalty for moving away from the reference')
