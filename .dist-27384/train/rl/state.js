/** Where a run is: what a checkpoint holds beside the models' own states. */
import { join } from 'node:path';
import { JournalError } from '../../run/index.js';
import { IterationJournal } from './iteration-journal.js';
export function initialState({ prompts, ptx, maker, heldOut }) {
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
    };
}
/** The first iteration of which nothing was trained, by the state of a checkpoint. */
export function firstUntrained(state) {
    if (state === undefined)
        return 0;
    const { iteration, updates } = state;
    return iteration + (updates.length > 0 ? 1 : 0);
}
/**
 * A checkpoint in the middle of an iteration needs all samples of that iteration: a policy that was trained on some of them cannot
 * draw the others. Without them the run goes back to a checkpoint of before, and the iteration begins again.
 */
export const refuseWithoutSamples = async (state, journal) => {
    const { iteration, updates } = state;
    if (updates.length === 0)
        return undefined;
    const problem = await lostSamples(journal, { iteration, updates: updates.length });
    return problem === undefined ? undefined : { reason: problem, journalFrom: iteration };
};
async function lostSamples(journal, { iteration, updates }) {
    try {
        const found = await IterationJournal.open(journal, iteration);
        const hasAll = found.rollout?.samples.every(key => found.outcome(key) !== undefined);
        if (hasAll && found.updates.length >= updates)
            return undefined;
        return `the journal of iteration ${iteration}, which it is in the middle of, has lost records`;
    }
    catch (error) {
        if (error instanceof JournalError)
            return error.message;
        throw error;
    }
}
/** Saves the models and the state under the number of optimiser steps. */
export async function saveCheckpoint(run, parts, state) {
    await run.checkpoint(state.step, { ...state }, async (directory) => {
        for (const [name, model] of modelsOf(parts))
            await parts.maker.withModel(model, () => model.saveState(join(directory, name)));
    });
}
/** Takes up the newest checkpoint; undefined where there is none. */
export async function restoreCheckpoint(run, parts) {
    const found = await run.latest();
    if (!found)
        return undefined;
    const state = found.state;
    for (const [name, model] of modelsOf(parts))
        await parts.maker.withModel(model, () => model.loadState(join(found.directory, name)));
    parts.prompts.seek(state.cursor);
    if (state.ptxCursor)
        parts.ptx?.seek(state.ptxCursor);
    parts.maker.restore(state.maker);
    return state;
}
function modelsOf({ actor, critic, ema }) {
    return Object.entries({ actor, critic, ema: ema?.model }).flatMap(([name, model]) => model ? [[name, model]] : []);
}
//# sourceMappingURL=state.js.map