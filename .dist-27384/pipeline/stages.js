/** The stages, and where each leaves what it makes. */
import { join } from 'node:path';
import { isPreferenceAlgorithm } from './config.js';
/** `ppo` is the last stage, whatever its algorithm. */
export const stageNames = ['sft', 'reward', 'ppo'];
/** The run directory of a stage. The last one's has the name of its algorithm. */
export function stageDirectory({ saveDir, algorithm }, stage) {
    return join(saveDir, { sft: 'sft', reward: 'reward_model', ppo: algorithm }[stage]);
}
/** The model that a stage is there for. */
export function stageModel(config, stage) {
    return join(stageDirectory(config, stage), stage === 'ppo' ? 'final_model' : 'best_model');
}
/** What the later stages read, which is a given model where the config names one. */
export function givenOrMade(config, stage) {
    return (stage === 'sft' ? config.sftModel : config.rewardModel) ?? stageModel(config, stage);
}
/** Whether the last stage scores answers by the reward model. */
export function usesRewardModel({ algorithm, ppo }) {
    return !isPreferenceAlgorithm(algorithm) && ppo.rewards === undefined;
}
/** The stages that a whole pipeline has: those whose model is not given, and a reward model only where one is used. */
export function wholePipeline(config) {
    const { sftModel, rewardModel } = config;
    return [
        ...(sftModel === undefined ? ['sft'] : []),
        ...(usesRewardModel(config) && rewardModel === undefined ? ['reward'] : []),
        'ppo',
    ];
}
//# sourceMappingURL=stages.js.map