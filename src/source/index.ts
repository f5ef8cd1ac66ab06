/** What the name of a model or of a data set means: a path, or an id of the Hub. */
export { type ModelWithAdapter, withBase } from './adapter-base.js'
export {
  type LocatedData,
  type LocatedModel,
  type LocateOptions,
  locateData,
  locateModel,
  type Origin,
} from './locate.js'
export { type Commits, type LocatedNames, type LocateNamesOptions, locateNames, nameKind } from './locate-names.js'
export { type HubName, hubName, isHubName, type NameKind, parseHubName, placedName } from './names.js'
