/** A model directory, ready to generate. */
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { recoverDirectory } from '../../files/index.js';
import { LocalModel } from '../../model/index.js';
import { Tokenizer } from '../../text/index.js';
import { LocalEngine } from './engine.js';
import { ReplaceableWeights } from './replaceable-weights.js';
export async function openEngine(directory, options = {}) {
    const { adapter, device, signal, onProgress, chatTemplate, ...rest } = options;
    await recoverDirectory(directory);
    const tokenizer = existsSync(join(directory, 'tokenizer.json'))
        ? await Tokenizer.load(directory, { chatTemplate })
        : undefined;
    const model = await LocalModel.load(directory, {
        role: 'language',
        ...(adapter === undefined ? {} : { adapter }),
        ...(device === undefined ? {} : { device }),
        ...(signal ? { signal } : {}),
        ...(onProgress ? { onProgress } : {}),
    });
    try {
        // Nothing is trained here.
        if (adapter !== undefined)
            await model.mergeAdapter();
        const stops = tokenizer ? { tokenizer } : { eosIds: await configuredStops(directory, model.config.raw) };
        const engine = new LocalEngine(model, { ...rest, ...stops });
        const close = async () => {
            await engine.close();
            model.dispose();
        };
        return { model, tokenizer, engine, weights: new ReplaceableWeights(model, engine), close };
    }
    catch (error) {
        model.dispose();
        throw error;
    }
}
/** Where generation ends, for a directory without a tokenizer. */
async function configuredStops(directory, config) {
    const file = join(directory, 'generation_config.json');
    const generation = existsSync(file) ? JSON.parse(await readFile(file, 'utf8')) : {};
    const ids = [generation.eos_token_id ?? config.eos_token_id ?? []].flat();
    return ids.filter(id => typeof id === 'number');
}
//# sourceMappingURL=open.js.map