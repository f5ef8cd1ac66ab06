/** An OpenAI-compatible server over the local engine. */
export { logprobsModes } from './logprobs-mode.js';
export { ModelServer } from './server.js';
//# sourceMappingURL=index.js.map