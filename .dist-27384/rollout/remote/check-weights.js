/**
 * Looks at a checkpoint before a server reads it. SGLang ends, and vLLM loses its weights, on other shapes or a truncated file;
 * both serve a mixture of old and new where tensors are missing.
 */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Checkpoint } from '../../tensor/index.js';
import { EngineError } from './errors.js';
/** Every tensor that the served model has, and no other, in its shape. Opening a file compares its length with what it should hold. */
export async function checkWeights(directory, modelDirectory) {
    const model = await Checkpoint.open(modelDirectory);
    try {
        const found = await Checkpoint.open(directory);
        try {
            const optional = (await tiesEmbeddings(modelDirectory)) ? 'lm_head.weight' : undefined;
            compare(found, model, optional, directory);
        }
        finally {
            await found.close();
        }
    }
    finally {
        await model.close();
    }
}
function compare(found, model, optional, directory) {
    const wrong = (what) => {
        throw new EngineError(`${directory}: ${what}; the servers were not asked to load it`);
    };
    for (const name of model.names) {
        if (!found.has(name)) {
            if (name !== optional)
                wrong(`it has no tensor ${name}, which the served model has`);
            continue;
        }
        const [mine, theirs] = [found.info(name).shape.join('x'), model.info(name).shape.join('x')];
        if (mine !== theirs)
            wrong(`${name} is ${mine}, in the served model ${theirs}`);
    }
    const further = found.names.find(name => name !== optional && !model.has(name));
    if (further !== undefined)
        wrong(`it has a tensor ${further}, which the served model has not`);
}
/** A model whose output head is its embedding may be written with it twice, or once. */
export async function tiesEmbeddings(modelDirectory) {
    try {
        const config = JSON.parse(await readFile(join(modelDirectory, 'config.json'), 'utf8'));
        return config.tie_word_embeddings === true;
    }
    catch {
        return false;
    }
}
/** A server that would load a checkpoint only in part. */
export function tiedHeadError(url, software) {
    return new EngineError(`${url}: vLLM ${software} cannot be given the weights of this model: its embeddings are tied, and vLLM would keep the old output head`, { remedy: tiedHeadRemedy });
}
export const tiedHeadRemedy = 'Train an adapter (lora), or a model with tie_word_embeddings: false; or generate with SGLang or `whetstone serve --control`.';
//# sourceMappingURL=check-weights.js.map