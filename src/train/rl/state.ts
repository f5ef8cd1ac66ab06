/** State of a run: what a checkpoint has besides the states of the models. */
import { join } from 'node:path'
import type { DataCursor } from '../../data/index.js'
import type { ExperienceState } from '../../experience/index.js'
import { type Checkpoint, type Journal, JournalError, type ResumeOptions, type Run } from '../../run/index.js'
import { IterationJournal } from './iteration-journal.js'
import type { UpdateSummary } from './iteration-metrics.js'
import type { RlParts } from './parts.js'

/** Plain JSON. Cursors and the maker's state are those the iteration began with: its rollout is made again from the journal. */
export interface RlState {
  readonly iteration: number
  /** What the iteration's optimiser steps gave, so far. */
  readonly updates: readonly UpdateSummary[]
  /** Optimiser steps of all models. */
  readonly step: number
  readonly policySteps: number
  readonly criticSteps: number
  readonly cursor: DataCursor
  readonly ptxCursor: DataCursor | undefined
  readonly maker: ExperienceState
  /** The evaluation of the current policy is still pending. */
  readonly evaluationDue: boolean
  readonly best: { readonly iteration: number; readonly reward: number } | undefined
}

export function initialState({ prompts, ptx, maker, heldOut }: RlParts): RlState {
  return {
    iteration: 0,
    updates: [],
    step: 0,
    policySteps: 0,
    criticSteps: 0,
    cursor: prompts.cursor,
    ptxCursor: ptx?.cursor,
    maker: maker.state,
    evaluationDue: heldOut !== undefined,
    best: undefined,
  }
}

/** The first iteration of which nothing was trained, by the state of a checkpoint. */
export function firstUntrained(state: unknown): number {
  if (state === undefined) return 0
  const { iteration, updates } = state as RlState
  return iteration + (updates.length > 0 ? 1 : 0)
}

/**
 * Whether samples of that iteration can be reused: the policy of the checkpoint drew them, and other rewards do not change them.
 */
export function keepsSamples(state: unknown, changes: readonly { readonly allow: string }[]): boolean {
  const begun = state !== undefined && (state as RlState).updates.length > 0
  return !begun && changes.every(({ allow }) => allow === 'rewards')
}

/**
 * A checkpoint in the middle of an iteration needs all samples of that iteration: the policy after some updates cannot draw the
 * others. Without them the run goes back to an earlier checkpoint, and the iteration starts again.
 */
export const refuseWithoutSamples: NonNullable<ResumeOptions['refuse']> = async (state, journal) => {
  const { iteration, updates } = state as unknown as RlState
  if (updates.length === 0) return undefined
  const problem = await lostSamples(journal, { iteration, updates: updates.length })
  return problem === undefined ? undefined : { reason: problem, journalFrom: iteration }
}

async function lostSamples(
  journal: Journal,
  { iteration, updates }: { iteration: number; updates: number },
): Promise<string | undefined> {
  try {
    const found = await IterationJournal.open(journal, iteration)
    const hasAll = found.rollout?.samples.every(key => found.isSampled(key))
    if (hasAll && found.updates.length >= updates) return undefined
    return `it is in the middle of iteration ${iteration}, and the journal of that iteration lacks records`
  } catch (error) {
    if (error instanceof JournalError) return error.message
    throw error
  }
}

/** Saves the models and the state under the number of optimiser steps. */
export async function saveCheckpoint(run: Run, parts: RlParts, state: RlState): Promise<void> {
  await run.checkpoint(state.step, { ...state } as unknown as Parameters<Run['checkpoint']>[1], async directory => {
    for (const [name, model] of modelsOf(parts))
      await parts.turns.use(model, () => model.saveState(join(directory, name)))
  })
}

export async function restoreCheckpoint(found: Checkpoint, parts: RlParts): Promise<RlState> {
  const state = found.state as unknown as RlState
  for (const [name, model] of modelsOf(parts))
    await parts.turns.use(model, () => model.loadState(join(found.directory, name)))
  parts.prompts.seek(state.cursor)
  if (state.ptxCursor) parts.ptx?.seek(state.ptxCursor)
  parts.maker.restore(state.maker)
  return state
}

function modelsOf({ actor, critic, ema }: RlParts) {
  return Object.entries({ actor, critic, ema: ema?.model }).flatMap(([name, model]) =>
    model ? [[name, model] as const] : [],
  )
}
