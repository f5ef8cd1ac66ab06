/**
 * Datasets: files in, checked rows and examples out.
 *
 * @example
 * import { dataOptionsSchema, openDataset } from 'whetstone/data'
 * const options = dataOptionsSchema.parse({ validationShare: 0.05 })
 * const dataset = await openDataset('preferences', 'pairs.jsonl', { ...options, seed: 0, baseDirectory: '.' })
 * console.log(dataset.report)
 */
export { openDataset } from './dataset.js';
export { DataError } from './errors.js';
export { whyEmpty } from './example-stream.js';
export { answerColumns } from './formats/fields.js';
export { inspectData } from './inspect.js';
export { dataOptionsSchema, dataOptionsShape, dataSchema, } from './options.js';
export { readPrompts } from './prompts.js';
export { readSamples } from './samples.js';
export { Permutation } from './shuffle.js';
//# sourceMappingURL=index.js.map