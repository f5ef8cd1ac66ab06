/** What a run is: the file config.json, and whether a resume asks for the same run. */
import { readFile } from 'node:fs/promises';
import { isDeepStrictEqual } from 'node:util';
import { systemProblem } from '../errors/index.js';
import { writeFileAtomic } from '../files/index.js';
import { RunError } from './errors.js';
const schemaVersion = 1;
export function newConfig(identity) {
    const { command, config, origins, fingerprints, inputs = {}, versions } = identity;
    const created = new Date().toISOString();
    return { schemaVersion, command, created, versions, config, origins, fingerprints, inputs, changes: [] };
}
export async function writeConfig(path, config) {
    await writeFileAtomic(path, `${JSON.stringify(config, undefined, 2)}\n`);
}
/** Undefined where there is none. */
export async function readConfig(path) {
    const text = await readFile(path, 'utf8').catch((error) => {
        if (error.code === 'ENOENT' || error.code === 'ENOTDIR')
            return undefined;
        throw new RunError(`${path}: ${systemProblem(error, 'read')}`, { cause: error });
    });
    if (text === undefined)
        return undefined;
    let config;
    try {
        config = JSON.parse(text);
    }
    catch (cause) {
        throw new RunError(`${path} is damaged: ${cause.message}`, { cause });
    }
    if (typeof config?.schemaVersion !== 'number' || typeof config.command !== 'string')
        throw new RunError(`${path} is not the config of a run${config !== null && typeof config === 'object' && 'model_type' in config ? ', but of a model' : ''}`, { remedy: 'A run needs a directory of its own.' });
    if (!(config.schemaVersion <= schemaVersion))
        throw new RunError(`${path} was written by a newer Whetstone (format ${config.schemaVersion}, this one reads up to ${schemaVersion})`, { remedy: 'Use that version, or start a new run.' });
    return config;
}
/** The run's identity as it goes on: what differs is refused, unless it is harmless or allowed. */
export function continuedConfig(old, identity, options) {
    const { directory } = options;
    if (old.command !== identity.command)
        throw new RunError(`${directory} is a run of \`${old.command}\`, not of \`${identity.command}\``, {
            remedy: 'Give this run a directory of its own.',
        });
    const changes = [
        ...configChanges(old.config, identity.config),
        ...datasetChanges(old.fingerprints, identity.fingerprints),
        ...inputChanges(old.inputs, identity.inputs),
    ];
    const matter = changes.filter(change => !isUnder(options.harmless, change));
    const refused = matter.filter(change => !isUnder(options.allowChange, change));
    if (refused.length > 0)
        throw changedError(directory, refused);
    const time = new Date().toISOString();
    const log = changes.map(({ key, from = null, to = null }) => ({ time, key, from, to }));
    const { config, origins, fingerprints, inputs = {}, versions } = identity;
    return {
        config: { ...old, config, origins, fingerprints, inputs, versions, changes: [...old.changes, ...log] },
        changes,
        matter,
    };
}
/** A key stands for everything below it. */
function isUnder(keys, { allow }) {
    return keys.some(key => allow === key || allow.startsWith(`${key}.`));
}
function changedError(directory, refused) {
    const lines = refused.map(({ key, from, to }) => `\n  ${key}: was ${shown(from)}, is now ${shown(to)}`);
    const flags = [...new Set(refused.map(({ allow }) => allow))].map(key => `--allow-change ${key}`).join(' ');
    return new RunError(`${directory}: what it was started with has changed:${lines.join('')}`, {
        remedy: `Undo the change, start a new run, or resume with ${flags} if the run may go on with it.`,
    });
}
function shown(value) {
    if (value === undefined)
        return 'not there';
    const text = JSON.stringify(value);
    return text.length > 120 ? `${text.slice(0, 117)}...` : text;
}
/** Where two values differ, by dotted key. Lists are compared whole. */
export function configChanges(from, to, key = '') {
    if (isObject(from) && isObject(to)) {
        const keys = new Set([...Object.keys(from), ...Object.keys(to)]);
        return [...keys].flatMap(name => configChanges(from[name], to[name], key === '' ? name : `${key}.${name}`));
    }
    // As JSON has them: an option that is undefined is one that is not there.
    return isDeepStrictEqual(plain(from), plain(to)) ? [] : [{ key, from, to, allow: key }];
}
function datasetChanges(from, to) {
    return configChanges({ ...from }, { ...to }).map(change => ({
        ...change,
        key: `dataset ${change.key}`,
        allow: 'dataset',
    }));
}
/** A run that was started before inputs were written down has none to compare. */
function inputChanges(from, to = {}) {
    if (from === undefined)
        return [];
    const options = new Set([...Object.keys(from), ...Object.keys(to)]);
    return [...options].flatMap(option => {
        const names = new Set([...Object.keys(from[option] ?? {}), ...Object.keys(to[option] ?? {})]);
        return [...names].flatMap((name) => {
            const [was, is] = [from[option]?.[name], to[option]?.[name]];
            return was === is ? [] : [{ key: `${option} ${name}`, from: was, to: is, allow: option }];
        });
    });
}
function isObject(value) {
    return typeof value === 'object' && value !== null && !Array.isArray(value);
}
function plain(value) {
    return value === undefined ? undefined : JSON.parse(JSON.stringify(value));
}
//# sourceMappingURL=identity.js.map