/**
 * Checkpoints of a run: a directory each, named by the optimiser step, with what the trainer put there and `state.json`. That
 * file lists every other file with its size and checksum, and carries a checksum over all it says. A directory that was cut
 * short is known without reading the weights; a flipped bit is found by reading them.
 */
import { createHash } from 'node:crypto';
import { readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join, relative, sep } from 'node:path';
import { fileCrc32, makeDirectory, syncDirectory, writeDirectoryAtomic } from '../files/index.js';
import { attributed } from './append-file.js';
import { RunError } from './errors.js';
import { exactParse, exactStringify } from './exact-json.js';
const schemaVersion = 1;
const stateFile = 'state.json';
export async function writeCheckpoint(parent, checkpoint) {
    const { step, state, logs, keep, fill } = checkpoint;
    const directory = join(parent, checkpointName(step));
    await attributed(directory, () => makeDirectory(parent));
    await writeDirectoryAtomic(directory, async (temporary) => {
        await fill(temporary);
        const files = await listFiles(temporary);
        const time = new Date().toISOString();
        const body = { schemaVersion, step, time, keep, state, logs: { ...logs }, files };
        await writeFile(join(temporary, stateFile), encodeState(body));
    }, { replaces: () => true });
    return directory;
}
/** Checks one checkpoint. A format this version does not know is a {@link RunError}: to pass it over would lose what it holds. */
export async function readCheckpoint(parent, step, check) {
    const directory = join(parent, checkpointName(step));
    const incomplete = (reason) => ({ kind: 'incomplete', directory, reason });
    const text = await readFile(join(directory, stateFile), 'utf8').catch(() => undefined);
    if (text === undefined)
        return incomplete(`${stateFile} is missing`);
    const body = decodeState(directory, text);
    if (typeof body === 'string')
        return incomplete(body);
    for (const file of body.files) {
        const problem = await fileProblem(directory, file, check);
        if (problem !== undefined)
            return incomplete(problem);
    }
    const { state, logs, keep } = body;
    return { kind: 'complete', checkpoint: { step, state, directory, logs, keep } };
}
/** What is wrong with a file of a checkpoint, if anything is. */
async function fileProblem(directory, { path, size, crc32 }, check) {
    const place = join(directory, path);
    const found = await stat(place).catch(() => undefined);
    if (found?.size !== size)
        return found ? `${path} has ${found.size} bytes, not ${size}` : `${path} is missing`;
    if (check === 'sizes' || crc32 === undefined)
        return undefined;
    const sum = await fileCrc32(place).catch((error) => error);
    if (typeof sum !== 'string')
        return `${path} cannot be read (${sum.message})`;
    return sum === crc32 ? undefined : `${path} is damaged: its checksum is ${sum}, not ${crc32}`;
}
/** The newest checkpoint that a run can go on from, and the newer ones that it cannot go on from. Every file is read. */
export async function latestCheckpoint(parent, refuse) {
    const passedOver = [];
    for (const step of (await checkpointSteps(parent)).reverse()) {
        const found = await readCheckpoint(parent, step, 'checksums');
        const refused = found.kind === 'complete' ? await refuse(found.checkpoint.state) : { reason: found.reason };
        if (found.kind === 'complete' && !refused)
            return { latest: found.checkpoint, passedOver };
        if (refused)
            passedOver.push({ step, directory: join(parent, checkpointName(step)), ...refused });
    }
    return { latest: undefined, passedOver };
}
/** The newest checkpoint whose files have their sizes: for those who look at a run. */
export async function newestCheckpoint(parent) {
    for (const step of (await checkpointSteps(parent)).reverse()) {
        const found = await readCheckpoint(parent, step, 'sizes');
        if (found.kind === 'complete')
            return found.checkpoint;
    }
    return undefined;
}
/** Keeps the newest complete checkpoints and those marked to be kept, and removes the others. Files are not read again for it. */
export async function rotateCheckpoints(parent, { newest, count, unusable }) {
    let kept = 0;
    for (const step of (await checkpointSteps(parent)).reverse()) {
        if (step > newest)
            continue;
        const directory = join(parent, checkpointName(step));
        const found = await readCheckpoint(parent, step, 'sizes');
        if (found.kind === 'complete' && found.checkpoint.keep === 'always')
            continue;
        if (found.kind === 'complete' && kept < count && !unusable.has(step))
            kept++;
        else
            await removeCheckpoint(directory);
    }
    await attributed(parent, () => syncDirectory(parent));
}
/** Steps that have a directory, complete or not, ascending. */
export async function checkpointSteps(parent) {
    const names = await readdir(parent).catch(() => []);
    return names
        .filter(name => /^\d{6,}$/.test(name))
        .map(Number)
        .sort((a, b) => a - b);
}
function checkpointName(step) {
    return String(step).padStart(6, '0');
}
/** The state goes first: what is left of a removal that is cut short is no checkpoint. */
async function removeCheckpoint(directory) {
    await attributed(directory, async () => {
        await rm(join(directory, stateFile), { force: true });
        await rm(directory, { recursive: true, force: true });
    });
}
function encodeState(body) {
    const text = exactStringify(body);
    return `{"schemaVersion":${schemaVersion},"sha256":"${sha256(text)}","body":${text}}\n`;
}
/** What the file says, or why it cannot be believed. */
function decodeState(directory, text) {
    const match = /^\{"schemaVersion":(\d+),"sha256":"([0-9a-f]{64})","body":(.*)\}\n$/s.exec(text);
    const version = Number(match?.[1] ?? /^\{"schemaVersion":(\d+),/.exec(text)?.[1]);
    const body = match && sha256(match[3]) === match[2] ? exactParse(match[3]) : undefined;
    if (body?.schemaVersion !== undefined && body.schemaVersion !== version)
        return `${stateFile} is damaged`;
    if (version > schemaVersion)
        throw new RunError(`${directory} was written by a newer Whetstone (format ${version}, this one reads up to ${schemaVersion})`, { remedy: `Use that version, or remove ${directory} to go on from the checkpoint before it.` });
    return body ?? `${stateFile} is damaged`;
}
function sha256(text) {
    return createHash('sha256').update(text).digest('hex');
}
/** Every file but the list itself. */
async function listFiles(directory) {
    const entries = await readdir(directory, { recursive: true, withFileTypes: true });
    const places = entries.filter(entry => entry.isFile()).map(entry => join(entry.parentPath, entry.name));
    const files = [];
    for (const place of places.sort()) {
        const path = relative(directory, place).split(sep).join('/');
        // One after another: they share the disk.
        if (path !== stateFile)
            files.push({ path, size: (await stat(place)).size, crc32: await fileCrc32(place) });
    }
    return files;
}
//# sourceMappingURL=checkpoints.js.map