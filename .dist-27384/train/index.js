/**
 * Training. The losses are pure: numbers per token in, the value and its gradient with respect to those numbers out, in float64.
 *
 * @example
 * const samples = [{ logprobs: [-1, -0.4], advantages: [0.5, 0.5] }]
 * const { value, gradients } = objective({ samples, totals: tokenTotals([2]), options: { loss: 'ppo' } })
 */
export { plainReport, reportFor, silentReport } from '../progress/index.js';
export { checkGenerator } from './check-generator.js';
export { checkData, checkModels } from './check-plan.js';
export { engineTypes, generatorOptionProblems, generatorSchema } from './config/generator.js';
export { experienceIdle, idleOptions } from './config/idle-options.js';
export { configJsonSchema, configOptions, optionTable } from './config/option-table.js';
export { commonWords, preferenceOtherWords, rewardOtherWords, rlOtherWords } from './config/other-words.js';
export { fileLayer, resolveConfig, settingsLayer, withOrigin, } from './config/resolve.js';
export { rewardLoading, rewardRunShape } from './config/rewards.js';
export { TrainingError } from './errors.js';
export { exportRun } from './export-run.js';
export { loadFrozen } from './load-model.js';
export * from './losses/index.js';
export { deviceMemory, MachineError, requireMachine } from './machine.js';
export { estimateModel } from './memory-estimate.js';
export { openGenerator } from './open-generator.js';
export { planRows } from './plan.js';
export { preferencePaths, preferenceSchema } from './preference/config.js';
export { runPreference } from './preference/job.js';
export { trainProgress, } from './progress.js';
export { rewardModelSchema } from './reward-model/config.js';
export { runRewardModel } from './reward-model/job.js';
export * from './rl/index.js';
export { runVersions } from './run-setup.js';
export { sftSchema } from './sft/config.js';
export { runSft } from './sft/job.js';
export { evaluateSft } from './sft/loop.js';
export { supervisedPaths, supervisedWords } from './supervised-config.js';
export { rewardModelIdle, supervisedIdle } from './supervised-idle.js';
export { prepareSupervised } from './supervised-job.js';
export { replaySupervised } from './supervised-replay.js';
//# sourceMappingURL=index.js.map