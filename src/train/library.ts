/** What a file of a definition can import from `whetstone/train`: all but what loads such files. */
export { type AlgorithmDefinition, algorithms, defineAlgorithm } from './rl/algorithms.js'
export { defineGenerator, type GeneratorContext, type GeneratorDefinition } from './run/define-generator.js'
