/** Where the process that scores samples again begins. An object, so that tests, which run TypeScript, can name a compiled one. */
export const rescoreEntry = { url: new URL('./rescore-process.js', import.meta.url) }

// Named here so that it is compiled with whatever imports this room.
export type { FromRescoreProcess } from './rescore-process.js'
