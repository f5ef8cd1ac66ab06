/** What the name of a model or of a data set means: a path, or an id of the Hub. */
export { withBase } from './adapter-base.js'
export * from './locate.js'
export * from './locate-names.js'
export * from './names.js'
