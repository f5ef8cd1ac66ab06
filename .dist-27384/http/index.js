/** What clients of HTTP servers have in common: addresses, secrets, waiting. */
export { redactor } from './redact.js';
export { parseRetryAfter } from './retry-after.js';
export { isApiKey, parseServerUrl, shownUrl } from './server-url.js';
export { tlsProblem } from './tls-problem.js';
//# sourceMappingURL=index.js.map