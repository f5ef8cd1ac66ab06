import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Source } from './find-libtorch.js'

/** `build/bridge.json`: what the built bridge is made of. */
export interface BridgeRecord {
  libtorch: { path: string; version: string; source: Source; why: string }
  cuda: boolean
  cudaGraphs: boolean
  /** Several processes can train together. */
  collectives: boolean
  compiler: string
  /** Over sources, flags, compiler and libtorch: an equal one means there is nothing to compile. */
  inputsHash: string
  builtAt: string
}

/** The package's own directory: this file is in `src/setup/` or `dist/setup/`. */
export const packageRoot = fileURLToPath(new URL('../..', import.meta.url))

export function bridgePaths(root: string): { folder: string; addon: string; record: string } {
  const folder = join(root, 'build')
  return { folder, addon: join(folder, 'whetstone.node'), record: join(folder, 'bridge.json') }
}

export function readBridgeRecord(root: string): BridgeRecord | undefined {
  try {
    return JSON.parse(readFileSync(bridgePaths(root).record, 'utf8')) as BridgeRecord
  } catch {
    return undefined
  }
}
