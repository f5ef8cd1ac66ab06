/** One stage as its command would run it, from the config in its file. */
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileLayer, resolveConfig, resolveRlConfig, rewardModelSchema, runRewardModel, runRl, runSft, sftSchema, supervisedPaths, supervisedWords, } from '../train/index.js';
export async function runStage(stage, { directory, values, report, signal }) {
    const file = join(directory, `${stage}.json`);
    await writeFile(file, `${JSON.stringify(values, undefined, 2)}\n`);
    const layers = [fileLayer(file, values)];
    const job = { resume: false, allowChange: [], report, signal };
    const result = await train();
    signal.throwIfAborted();
    return result;
    function train() {
        if (stage === 'sft')
            return runSft({ ...job, ...resolveConfig(sftSchema, layers, { paths: supervisedPaths, words: supervisedWords }) });
        if (stage === 'reward')
            return runRewardModel({
                ...job,
                ...resolveConfig(rewardModelSchema, layers, { paths: supervisedPaths, words: supervisedWords }),
            });
        return runRl({ ...job, ...resolveRlConfig(layers) });
    }
}
//# sourceMappingURL=run-stage.js.map