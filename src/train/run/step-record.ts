import { z } from 'zod'

/** Journal record of an optimiser step: enough to check that every row is unchanged. */
export const stepRecordSchema = z.object({
  kind: z.literal('step'),
  /** Counts from 1. */
  step: z.int().min(1),
  epoch: z.int().min(0),
  rows: z.array(z.string()),
  /** Of each row, a fingerprint of its token ids and labels. */
  digests: z.array(z.string()),
})
export type StepRecord = z.output<typeof stepRecordSchema>

/** Steps that share a file of the journal. */
const stepsOfBlock = 1000

/** The journal's file of a step. */
export const journalBlock = (step: number): number => Math.floor((step - 1) / stepsOfBlock)
