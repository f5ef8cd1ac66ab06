import { resolve } from 'node:path';
import { RewardComputationEngine } from './engine.js';
import { RewardConfigError } from './errors.js';
import { fileOptionsOf, openRewardFile } from './process/reward-file.js';
import { readSpec } from './spec.js';
/**
 * An engine from a file: a module (.ts, .js, .mjs) that exports a reward, or a description of sources (.yaml, .json).
 *
 * @example
 * const engine = await loadRewards('rewards.yaml')
 */
export async function loadRewards(file, options = {}) {
    return new RewardComputationEngine(await loadRewardOptions(file, options));
}
/** What an engine is made of, from such a file; for callers that make one of their own. */
export async function loadRewardOptions(file, options = {}) {
    const path = resolve(file);
    const shared = options.tokenizer ? { tokenizer: options.tokenizer } : {};
    if (/\.(ya?ml|json)$/i.test(file))
        return { ...(await readSpec(path, options)), ...shared };
    if (!/\.[cm]?[jt]s$/i.test(file))
        throw new RewardConfigError(`${file}: expected a module (.ts, .js, .mjs) or a description (.yaml, .json)`);
    const loaded = await openRewardFile(path, fileOptionsOf(options));
    return { ...shared, ...loaded.options };
}
//# sourceMappingURL=load.js.map