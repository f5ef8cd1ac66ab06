/** Where the process of a rank begins. An object, so that tests, which run TypeScript, can name a compiled one. */
export const rankEntry = { url: new URL('./rank-process.js', import.meta.url) }

// Named here so that it is compiled with whatever imports this room.
export type { RankProcessOptions } from './rank-process.js'
