/** Models and data sets of the Hugging Face Hub, in the cache that all tools share. */
export { HubError } from './errors.js'
export { type Pushed, type PushOptions, pushDirectory } from './push.js'
export type { Repo, RepoFile, RepoType } from './repo.js'
export { isCommit } from './repo.js'
export type { Wanted } from './select-files.js'
export { type HubSettings, hubSettings } from './settings.js'
export { type ChooseFiles, type SnapshotOptions, snapshot } from './snapshot.js'
