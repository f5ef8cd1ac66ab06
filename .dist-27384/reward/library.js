export { defineReward } from './define-reward.js';
export { RewardComputationEngine } from './engine.js';
export { rewardOptionNames } from './engine-options.js';
export { RewardConfigError, RewardStoppedError, SourceError } from './errors.js';
export { batchReward, customReward, sampleReward, } from './function-source.js';
export { decodeRewardInput, textRewardInput } from './input.js';
export { modelReward } from './model-source.js';
export { failureReasons, } from './outcome.js';
export { dialectNames } from './remote/dialects.js';
export { grpcReward } from './remote/grpc-source.js';
export { httpReward } from './remote/http-source.js';
export { remoteReward } from './remote/remote-source.js';
export { exactMatch, format, jsonSchema, length, numericAnswer, pattern, sameAnswer, wordList, } from './rules/index.js';
export { summarizeRewards } from './summary.js';
//# sourceMappingURL=library.js.map