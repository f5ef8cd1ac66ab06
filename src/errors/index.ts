/** Errors that are written for people, and the words they share. */
export { linkedController, onAbort } from './abort.js'
export { type ErrorCode, errorCodes } from './codes.js'
export { didYouMean, nearest } from './did-you-mean.js'
export * from './errors.js'
export { type Problem, problemOf, rowProblem } from './problem.js'
export { ProblemList } from './problem-list.js'
export { type SchemaProblemOptions, schemaProblemList, schemaProblems } from './schema-problems.js'
export { isSystemError, systemProblem } from './system-error.js'
