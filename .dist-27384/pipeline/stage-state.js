/** Whether a stage is to be run: by what its directory holds, and what it was made from. */
import { existsSync } from 'node:fs';
import { rename } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { makeDirectory, recoverDirectory } from '../files/index.js';
import { directoryFingerprint } from './fingerprints.js';
import { changedInputs, readStageRecord } from './stage-record.js';
/** `model` is the directory that the stage is there for. */
export async function stageState(directory, model, inputs) {
    const record = await readStageRecord(directory);
    if (!record)
        return { kind: 'absent' };
    const changed = changedInputs(record.inputs, inputs);
    const { status } = record;
    if (changed.length > 0)
        return { kind: 'stale', status, changed };
    if (status === 'started')
        return { kind: 'unfinished' };
    await recoverDirectory(model);
    const found = await directoryFingerprint(model);
    if (found !== record.model)
        return { kind: 'stale', status, changed: [{ path: basename(model), from: record.model, to: found }] };
    return { kind: 'current', record };
}
/** Moves what a stage left out of the way of its next run: hours of work are not ours to delete. Gives where it is now. */
export async function setAside(directory) {
    const folder = join(dirname(directory), 'previous');
    await makeDirectory(folder);
    let number = 1;
    const place = () => join(folder, `${basename(directory)}-${number}`);
    while (existsSync(place()))
        number++;
    await rename(directory, place());
    return place();
}
//# sourceMappingURL=stage-state.js.map