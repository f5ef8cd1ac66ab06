/** Errors that are written for people, and the words they share. */
export { didYouMean } from './did-you-mean.js';
export { InputError, naming, refuse, WhetstoneError } from './errors.js';
export { schemaProblems } from './schema-problems.js';
export { isSystemError, systemProblem } from './system-error.js';
//# sourceMappingURL=index.js.map