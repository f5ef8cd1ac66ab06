/** Errors that are written for people, and the words they share. */
export { linkedController, onAbort } from './abort.js'
export { didYouMean } from './did-you-mean.js'
export { InputError, naming, refuse, WhetstoneError } from './errors.js'
export { type SchemaProblemOptions, schemaProblems } from './schema-problems.js'
export { isSystemError, systemProblem } from './system-error.js'
