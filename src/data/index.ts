/**
 * Datasets: files in, checked rows and examples out.
 *
 * @example
 * import { dataOptionsSchema, openDataset } from 'whetstone/data'
 * const options = dataOptionsSchema.parse({ validationShare: 0.05 })
 * const dataset = await openDataset('preferences', 'pairs.jsonl', { ...options, seed: 0, baseDirectory: '.' })
 * console.log(dataset.report)
 */
export { type OpenDatasetOptions, openDataset } from './dataset.js'
export type { AnswerEnd } from './encode.js'
export { DataError } from './errors.js'
export { whyEmpty } from './example-stream.js'
export { type ChosenSplit, chooseSplit, type SplitChoice } from './folders/choose-split.js'
export { dataFolderFiles } from './folders/data-folder.js'
export { type FolderContents, type FolderPlan, planFolder } from './folders/plan-folder.js'
export type { ConversationRow } from './formats/conversations.js'
export { answerColumns } from './formats/fields.js'
export { directoryOf } from './formats/media.js'
export { type Inspection, type InspectOptions, inspectData } from './inspect.js'
export type { LengthSummary } from './lengths.js'
export { expandedSequence, patchesOf, promptWithMedia, type RowProcessor } from './media-rows.js'
export { RowInput } from './open-rows.js'
export * from './options.js'
export {
  type FilePrompt,
  type Prompt,
  type PromptColumns,
  type PromptFileOptions,
  type PromptRow,
  readPrompts,
} from './prompts.js'
export { BadRows, type DataRow, type ReadOptions } from './read-rows.js'
export type { RenderedPart, RenderedRow } from './render-row.js'
export type { Column, RowSchema } from './row-schema.js'
export { readSamples, type SavedSample } from './samples.js'
export { Permutation } from './shuffle.js'
export { conversationOfRow, mediaOfRow, promptOfRow } from './single-rows.js'
export { isPartOfFolder } from './source-files.js'
export * from './types.js'
