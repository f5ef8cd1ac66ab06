import { pipelineSchema, resolvePipelineConfig } from '../pipeline/index.js';
import { algorithms, preferenceOtherWords, preferencePaths, preferenceSchema, resolveConfig, resolveRlConfig, rewardModelIdle, rewardModelSchema, rewardOtherWords, rlIdle, rlSchema, runPreference, runRewardModel, runRl, runSft, sftSchema, supervisedIdle, supervisedPaths, supervisedWords, } from '../train/index.js';
const useModel = (model) => [
    `whetstone chat --model ${model}`,
    `whetstone serve --model ${model}`,
];
export const sftTraining = {
    verb: 'sft',
    about: `Supervised fine-tuning: the model learns to answer as the assistant does in conversations, prompts with completions,
or texts. The best checkpoint is the one of lowest perplexity on validation data.`,
    example: 'model: model\ndata: conversations.jsonl\noutput: runs/sft',
    schema: sftSchema,
    resolve: layers => resolveConfig(sftSchema, layers, { paths: supervisedPaths, words: supervisedWords }),
    idle: supervisedIdle,
    run: runSft,
    next: useModel,
};
export const rewardTraining = {
    verb: 'reward train',
    about: `Trains a reward model on pairs of answers: of two, the better one gets the higher score. The best checkpoint is the one
that ranks most held-out pairs rightly.`,
    example: 'model: model\ndata: preferences.jsonl\noutput: runs/reward',
    schema: rewardModelSchema,
    resolve: layers => resolveConfig(rewardModelSchema, layers, {
        paths: supervisedPaths,
        words: supervisedWords,
        otherWords: rewardOtherWords,
    }),
    idle: rewardModelIdle,
    run: runRewardModel,
    next: model => [
        'to reward samples with it, in a file of rewards:',
        `sources: { quality: { type: model, path: ${model} } }`,
    ],
};
export const dpoTraining = {
    verb: 'dpo',
    about: `Trains a model on preferences, without a reward model: dpo, cdpo and ipo on pairs of answers, kto on answers that are
labelled one by one. What the reference says of them is computed once, before the first step.`,
    example: 'model: model\ndata: preferences.jsonl\noutput: runs/dpo',
    schema: preferenceSchema,
    resolve: layers => resolveConfig(preferenceSchema, layers, {
        paths: preferencePaths,
        words: supervisedWords,
        otherWords: preferenceOtherWords,
    }),
    idle: supervisedIdle,
    run: runPreference,
    next: useModel,
};
export const rlTraining = {
    verb: 'rl',
    about: `Reinforcement learning: the model answers prompts, rewards say how well, and it learns to do better. \`algorithm\` is a preset
(${algorithms.join(', ')}); what it sets is printed, and the config may set it otherwise.`,
    example: 'model: model\ndata: prompts.jsonl\nrewards: reward.ts\noutput: runs/rl',
    schema: rlSchema,
    resolve: layers => {
        const { preset, ...resolved } = resolveRlConfig(layers);
        const origin = `preset ${preset}`;
        const set = Object.keys(resolved.origins).filter(path => resolved.origins[path] === origin);
        const values = set.map(path => `${path} ${JSON.stringify(valueAt(resolved.config, path))}`);
        return { ...resolved, notes: [`${preset} sets ${values.join(', ').replaceAll('"', '')}`] };
    },
    idle: rlIdle,
    run: runRl,
    next: useModel,
};
function valueAt(config, path) {
    return path.split('.').reduce((value, key) => value[key], config);
}
/** By the name that is typed. */
export const trainings = {
    sft: sftTraining,
    reward: rewardTraining,
    rl: rlTraining,
    dpo: dpoTraining,
    pipeline: {
        example: `baseModel: model
sftDataPath: conversations.jsonl
rewardDataPath: preferences.jsonl
ppoDataPath: prompts.jsonl
saveDir: runs/rlhf`,
        schema: pipelineSchema,
        resolve: resolvePipelineConfig,
    },
};
export const configSchemas = Object.fromEntries(Object.entries(trainings).map(([name, { schema }]) => [name, schema]));
//# sourceMappingURL=trainings.js.map