/** The model of a run as a directory that others load, from its newest checkpoint. */
import { join } from 'node:path';
import { stateDtype } from '../model/index.js';
import { Run } from '../run/index.js';
import { TrainingError } from './errors.js';
import { loadTrained } from './load-model.js';
const roles = {
    sft: { role: 'language', state: 'model' },
    preference: { role: 'language', state: 'model' },
    reward: { role: 'reward', state: 'model' },
    rl: { role: 'language', state: 'actor' },
};
/**
 * Exports the model that a run trains. With `dtype: 'float32'` the weights have all digits that training gave them.
 *
 * @example
 * const { signal } = new AbortController()
 * const what = { out: 'models/rl-float32', what: 'model', dtype: 'float32' } as const
 * await exportRun('runs/rl', what, { report: silentReport, signal })
 */
export async function exportRun(directory, { out, what, dtype }, context) {
    const view = await Run.read(directory);
    const { command } = view.config;
    const trained = roles[command];
    if (!trained)
        throw new TrainingError(`${directory} is a run of ${command}, which trains no model`);
    const latest = await view.latest();
    if (!latest)
        throw new TrainingError(`${directory} has no checkpoint yet`);
    const state = join(latest.directory, trained.state);
    const config = view.config.config;
    const { model: source, lora, adapter, seed, optimizer, freezeBackbone } = config;
    const model = await loadTrained(source, {
        ...{ role: trained.role, what: source, device: 'cpu', gradientCheckpointing: false, seed, lora, adapter },
        dtype: await stateDtype(state),
        optimizer,
        ...(freezeBackbone === undefined ? {} : { freezeBackbone }),
    }, context);
    try {
        await model.loadState(state);
        return { ...(await model.export(out, { what, ...(dtype && { dtype }) })), step: latest.step };
    }
    finally {
        model.dispose();
    }
}
//# sourceMappingURL=export-run.js.map