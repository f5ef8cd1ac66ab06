import { MediaError } from './media-error.js'

export const tooLarge = (size: number, maxBytes: number): MediaError =>
  new MediaError('limit', `it has ${size} bytes; the limit is ${maxBytes}`)
