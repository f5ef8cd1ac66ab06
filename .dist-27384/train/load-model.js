/** Models of a training as a config describes them. */
import { LocalModel } from '../model/index.js';
import { resolveDevice } from '../tensor/index.js';
/** A model that is trained: its adapter, where the config asks for one, is new or goes on. Norms and biases do not decay. */
export function loadTrained(directory, options, context) {
    const { lora, adapter, seed, optimizer, freezeBackbone = false } = options;
    const { betas, eps, weightDecay, masters } = optimizer;
    return load(directory, options, context, {
        seed,
        freezeBackbone,
        gradientCheckpointing: options.gradientCheckpointing,
        optimizer: { betas, eps, weightDecay, masters, noDecay: ['norm', 'bias'] },
        ...(adapter === undefined ? {} : { adapter }),
        ...(lora === undefined || adapter !== undefined ? {} : { adapter: { ...lora, seed } }),
    });
}
/** A model that only scores, with an adapter where it has one. */
export function loadFrozen(directory, options, context) {
    const { adapter } = options;
    return load(directory, options, context, adapter === undefined ? {} : { adapter });
}
async function load(directory, { role, what, device, dtype, residualDtype, tokenBudget, texts }, { report, signal }, rest) {
    const loading = report.transfer(`loading ${what}`);
    try {
        return await LocalModel.load(directory, {
            role,
            device: resolveDevice(device),
            signal,
            ...(dtype === undefined ? {} : { dtype }),
            ...(texts === undefined ? {} : { texts }),
            ...(residualDtype === undefined ? {} : { residualDtype }),
            ...(tokenBudget === undefined ? {} : { tokenBudget }),
            onProgress: ({ loadedBytes, totalBytes }) => loading.at(loadedBytes, totalBytes),
            ...rest,
        });
    }
    finally {
        loading.end();
    }
}
//# sourceMappingURL=load-model.js.map