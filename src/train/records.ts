/** What journals have of trainings, read without models: it loads no libtorch, so that looking at a run is fast and small. */
export { type JournalledSample, journalledSamples, recordedKl, type SamplingSettings } from './rl/journal-samples.js'
export { dataRowOf, visitOf } from './rl/prompt-rows.js'
