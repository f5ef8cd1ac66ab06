/** Images and videos: from files to pixels, and from placeholders to runs of tokens and their positions. */
export { type MediaPositions, mediaPositions, type PositionRules } from './positions.js'
