import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { inspectEntry, openCache } from './cache.js';
import { SetupError } from './errors.js';
import { fetchArchive, fetchWithPip } from './fetch-libtorch.js';
import { inspectLibtorch, oldestVersion } from './libtorch.js';
import { withLock } from './lock.js';
import { wantsCuda } from './platform.js';
import { findPythonTorch } from './python.js';
/** Finds the libtorch to build against, fetching one when there is none. The order is the contract; docs/install.md tells it. */
export async function findLibtorch(context) {
    const { env, platform, report, signal } = context;
    const passed = [];
    const pass = (reason) => {
        passed.push(reason);
        report.line(`  passed over: ${reason}`);
    };
    const given = fromEnvironment(env);
    if (given)
        return given;
    const python = await findPythonTorch(env, signal);
    if (python) {
        const inspection = inspectLibtorch(python.folder);
        if (inspection.kind === 'usable')
            return { ...inspection.libtorch, source: 'python', why: `it is the torch that ${python.python} imports` };
        pass(`the torch of ${python.python}: ${inspection.reason}`);
    }
    const wish = wantsCuda(env);
    const cache = openCache(env, platform);
    const fromCache = (variants, source, why) => {
        for (const variant of variants) {
            const inspection = inspectEntry(cache, variant);
            if (inspection?.kind === 'usable')
                return { ...inspection.libtorch, source, why };
            if (inspection)
                pass(inspection.reason);
        }
        return undefined;
    };
    // Without a driver the CUDA copy computes just as well on the CPU. With one, the CPU copy is only better than nothing.
    const usual = wish.cuda ? ['cuda'] : ['cpu', 'cuda'];
    const cached = fromCache(usual, 'cache', 'it was fetched earlier');
    if (cached)
        return cached;
    const fetching = { ...context, cache };
    const onWait = ({ pid }) => report.line(`  another setup (process ${pid}) is fetching libtorch; waiting for it`);
    return withLock(cache.lock, { signal, onWait }, async () => {
        const meanwhile = fromCache(usual, 'cache', 'another setup fetched it while this one waited');
        if (meanwhile)
            return meanwhile;
        const attempt = async (source, variant, fetch, why) => {
            const result = await fetch();
            if (result.kind === 'fetched')
                return fromCache([variant], source, why);
            pass(result.reason);
            return undefined;
        };
        const archive = (why) => attempt('archive', 'cpu', () => fetchArchive(fetching), why);
        const pip = (variant, why) => attempt('pip', variant, () => fetchWithPip(variant, fetching), why);
        let found;
        if (wish.cuda) {
            report.line(`Fetching libtorch with CUDA: ${wish.why} (PyTorch's CPU archive is passed over for pip's CUDA wheel)`);
            found =
                (await pip('cuda', `${wish.why}, and the torch wheel has CUDA`)) ??
                    fromCache(['cpu'], 'cache', 'CUDA could not be fetched, and this one was fetched earlier') ??
                    (await archive('CUDA could not be fetched, and this one does without'));
        }
        else {
            report.line(`Fetching libtorch for the CPU: ${wish.why}`);
            found =
                (await archive("nothing was installed, and PyTorch's CPU archive could be fetched")) ??
                    (await pip('cpu', 'nothing was installed, and pip could fetch the torch wheel'));
        }
        if (found)
            return found;
        throw new SetupError(`No libtorch was found, and none could be fetched:\n${passed.map(reason => `  - ${reason}`).join('\n')}`, 'Connect to the network (pip needs its package index), or install Python and pip, or unpack a libtorch ' +
            `${oldestVersion} or newer by hand and set LIBTORCH to its directory; then run \`npx whetstone setup\`.`);
    });
}
/** What the user names is used or is an error: quietly taking another would hide the mistake. */
function fromEnvironment(env) {
    if (!env.LIBTORCH)
        return undefined;
    const named = resolve(env.LIBTORCH);
    const inner = ['torch', 'libtorch'].map(name => join(named, name)).find(path => existsSync(join(path, 'lib')));
    const inspection = inspectLibtorch(!existsSync(join(named, 'lib')) && inner ? inner : named);
    if (inspection.kind === 'usable')
        return { ...inspection.libtorch, source: 'LIBTORCH', why: 'LIBTORCH names it' };
    throw new SetupError(`LIBTORCH is set to ${env.LIBTORCH}, but that is no usable libtorch: ${inspection.reason}.`, `Point it at a libtorch ${oldestVersion} or newer (the directory with include/ and lib/ in it), or unset it to have one fetched.`);
}
//# sourceMappingURL=find-libtorch.js.map