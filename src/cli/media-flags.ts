import { z } from 'zod'
import { type MediaSettings, mediaSchema } from '../train/index.js'
import { choice, file, integer } from './flags.js'

const { shape } = mediaSchema
const pixels = (name: 'minPixels' | 'maxPixels' | 'videoMinPixels' | 'videoMaxPixels') =>
  integer(shape[name].description!, { min: 1 }).optional()

/** How images and videos are read, of every verb that reads rows without a config. */
export const mediaFlags = z.object({
  minPixels: pixels('minPixels'),
  maxPixels: pixels('maxPixels'),
  videoMinPixels: pixels('videoMinPixels'),
  videoMaxPixels: pixels('videoMaxPixels'),
  mediaUrls: choice(['refused', 'public'], 'WHICH', shape.urls.description!).optional(),
  ffmpeg: file(shape.ffmpeg.description!).optional(),
})

/** The flags as the option `media`; empty where none is given. */
export function mediaOption(flags: Partial<z.output<typeof mediaFlags>>): { readonly media?: MediaSettings } {
  const { minPixels, maxPixels, videoMinPixels, videoMaxPixels, mediaUrls: urls, ffmpeg } = flags
  const given = Object.entries({ minPixels, maxPixels, videoMinPixels, videoMaxPixels, urls, ffmpeg }).filter(
    ([, value]) => value !== undefined,
  )
  return given.length === 0 ? {} : { media: Object.fromEntries(given) }
}
