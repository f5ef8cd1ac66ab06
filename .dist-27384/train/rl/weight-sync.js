/** How an engine gets the policy's weights: it has them, or they are written where it reads them. */
import { createHash } from 'node:crypto';
import { readdir, rm, rmdir } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { InputError, isSystemError } from '../../errors/index.js';
import { makeDirectory } from '../../files/index.js';
/** Answers with what gives the engine the weights of now. */
export function weightSync(options) {
    const { actor, generator, maker, directory, dtype, proofIds, signal } = options;
    if (generator.capabilities.weights.includes('shared'))
        return () => generator.updateWeights({ version: actor.version });
    const what = writtenAs(options);
    let given;
    return async () => {
        const { version } = actor;
        if (given === version)
            return;
        const path = join(directory, `${what}-${version}`);
        await makeDirectory(directory);
        const proof = await maker.withModel(actor, async () => {
            await actor.export(path, { what });
            const [scored] = await actor.score([proofIds]);
            return { ids: proofIds, logprobs: scored.logprobs, dtype };
        });
        const written = what === 'adapter' ? { adapter: path } : { directory: path };
        await generator.updateWeights({ version, proof, signal, ...written });
        // Not before: a server that is started anew is given what the others have.
        await removeOthers(directory, basename(path));
        given = version;
    };
}
/** Those of earlier versions, an interrupted run's and halves of them too. What has other names is not ours. */
async function removeOthers(directory, kept) {
    const ours = /^(model|adapter)-\d+$|^\.(model|adapter)-\d+\./;
    for (const name of await readdir(directory))
        if (name !== kept && ours.test(name))
            await rm(join(directory, name), { recursive: true, force: true });
}
/** All weights that a run wrote for servers, and their directory where nothing else is in it. */
export async function removeWritten(directory) {
    try {
        await removeOthers(directory, undefined);
        await rmdir(directory);
    }
    catch (error) {
        const harmless = ['ENOENT', 'ENOTEMPTY', 'EEXIST'];
        if (!isSystemError(error) || !harmless.includes(error.code ?? ''))
            throw error;
    }
}
function writtenAs({ actor, generator, weights }) {
    const { weights: ways } = generator.capabilities;
    const adapter = actor.capabilities.exports.includes('adapter') && ways.includes('adapter');
    if (weights === 'adapter' && !adapter)
        throw new InputError('generator.weights: the servers were not started to load adapters', {
            remedy: 'Start them with LoRA enabled (`whetstone engine start --lora-rank N`), or set generator.weights to directory.',
        });
    // Servers that can load neither say why when they are told to.
    return weights !== 'directory' && adapter ? 'adapter' : 'model';
}
/** Where weights are written for servers to read. Runs in different places may have the same name, and the same directory here. */
export function weightsDirectoryOf({ output, generator: { weightsDirectory }, }) {
    if (weightsDirectory === undefined)
        return join(output, 'weights');
    const place = createHash('sha256').update(output).digest('hex').slice(0, 8);
    return join(weightsDirectory, `${basename(output)}-${place}`);
}
const proofText = 'Whetstone asks both sides what they think of this sentence, of 3 + 4 = 7, of "quotes", and of f(x) = x ** 2; then it compares.';
/** The text of proofs in tokens, as many as an engine takes. */
export async function proofIdsOf(tokenizer, maxLength) {
    const ids = await tokenizer.encode(proofText);
    return Int32Array.from(ids).slice(0, Math.min(64, maxLength - 1));
}
//# sourceMappingURL=weight-sync.js.map