import { homedir } from 'node:os'
import { join } from 'node:path'

/** Where things that can be made again are kept between runs: libtorch, compiled kernels. */
export function cacheDirectory(): string {
  const { WHETSTONE_CACHE, XDG_CACHE_HOME } = process.env
  return WHETSTONE_CACHE || join(XDG_CACHE_HOME || join(homedir(), '.cache'), 'whetstone')
}
