/** `sharp`, loaded with the first image: text-only programs do without it. */
import type sharp from 'sharp'
import { MediaError } from './media-error.js'

type SharpModule = typeof sharp

let loading: Promise<SharpModule> | undefined

export function loadSharp(): Promise<SharpModule> {
  loading ??= load()
  return loading
}

async function load(): Promise<SharpModule> {
  try {
    const { default: module } = await import('sharp')
    // Several images are decoded at once; one thread for each is then the fastest, and old results would only hold memory.
    module.concurrency(1)
    module.cache(false)
    return module
  } catch (error) {
    loading = undefined
    const why = error instanceof Error ? error.message.split('\n')[0] : String(error)
    throw new MediaError('program', `images need the package sharp, which cannot be loaded (${why}); run npm install`, {
      cause: error,
    })
  }
}
