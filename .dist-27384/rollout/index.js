export { LocalEngine } from './local/engine.js';
export { deviceMemory } from './local/kv-budget.js';
export { openEngine } from './local/open.js';
export { ReplaceableWeights } from './local/replaceable-weights.js';
export { logprobsUnder } from './logprob-meaning.js';
export { OutcomeStream } from './outcome-stream.js';
export { tiedHeadError } from './remote/check-weights.js';
export { EngineError } from './remote/errors.js';
export { inspectServers } from './remote/inspect.js';
export { eventLine } from './remote/options.js';
export { explainedDifference } from './remote/proof-limit.js';
export { resolveSampling, } from './sampling.js';
export { connectSglang } from './sglang/connect.js';
export { connectVllm } from './vllm/connect.js';
export { keepsTiedHead } from './vllm/probe.js';
//# sourceMappingURL=index.js.map