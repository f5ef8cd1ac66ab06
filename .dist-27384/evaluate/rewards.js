/** The rewards of an evaluation: a file of them, or a reward model, which is loaded when the models that answer are gone. */
import { existsSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { InputError } from '../errors/index.js';
import { inspectModel, readConfig } from '../model/index.js';
import { loadRewardOptions, modelReward, RewardComputationEngine, } from '../reward/index.js';
import { Tokenizer } from '../text/index.js';
import { loadFrozen } from '../train/index.js';
/** Whatever is wrong with rewards is an error here, before any model is loaded to answer. */
export async function prepareRewards(reward, { tokenizer, device }) {
    const shared = tokenizer ? { tokenizer } : {};
    if (typeof reward === 'object')
        return loadedRewards({ ...shared, ...reward });
    if (!existsSync(reward))
        throw new InputError(`reward: ${reward}: there is no such file; expected a module that exports a reward, a description of sources, or a reward model's directory`);
    if (!(await stat(reward)).isDirectory())
        return loadedRewards(await loadRewardOptions(reward, { ...shared, device }));
    if ((await readConfig(reward)).head !== 'score')
        throw new InputError(`reward: ${reward} is a language model; a reward model has a score head`);
    await inspectModel(reward, { role: 'reward' });
    const own = await Tokenizer.load(reward);
    let opened;
    return {
        judge: 'model',
        rowProblem: () => undefined,
        async open(context) {
            const settings = {
                device,
                gradientCheckpointing: false,
                seed: 0,
                role: 'reward',
                what: 'the reward model',
            };
            const model = await loadFrozen(reward, settings, context);
            const policy = tokenizer ? { policyTokenizer: tokenizer } : {};
            const source = modelReward({ name: 'reward', model, tokenizer: own, ...policy });
            opened = new RewardComputationEngine({ sources: [{ ...source, close: async () => model.dispose() }] });
            return opened;
        },
        close: async () => opened?.close(),
    };
}
function loadedRewards(options) {
    const engine = new RewardComputationEngine(options);
    return {
        judge: engine.asksModels ? 'model' : 'rules',
        rowProblem: row => engine.rowProblem(row),
        open: async () => engine,
        close: () => engine.close(),
    };
}
/** Samples that are scored in one call, in the order of the data: a model then sees the same batches every time. */
const chunk = 256;
export async function scoreAnswers(engine, inputs, { signal, onScored }) {
    const all = [];
    for (let start = 0; start < inputs.length; start += chunk) {
        const { outcomes } = await engine.compute(inputs.slice(start, start + chunk), { signal });
        all.push(...outcomes);
        onScored(all.length);
    }
    return all;
}
//# sourceMappingURL=rewards.js.map