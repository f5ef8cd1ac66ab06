/** Where the process of a reward file begins. An object, so that tests, which run TypeScript, can name a compiled one. */
export const childEntry = { url: new URL('./child.js', import.meta.url) }

// Named here so that it is compiled with whatever imports this room.
export type { ChildSend } from './child.js'
