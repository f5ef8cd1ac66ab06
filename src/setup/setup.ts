import type { Report } from '../progress/index.js'
import type { BridgeRecord } from './bridge-record.js'
import { compileBridge } from './compile-bridge.js'
import { findCompiler } from './compiler.js'
import { findLibtorch } from './find-libtorch.js'
import { supportedPlatform } from './platform.js'

interface SetupOptions {
  /** The package's directory: `native/` is read there, `build/` written. */
  root: string
  env: NodeJS.ProcessEnv
  report: Report
  /** Aborting it stops what runs, removes what is unfinished, and rejects with its reason. */
  signal: AbortSignal
}

/** Everything between `npm ci` and a working bridge. */
export async function setup(options: SetupOptions): Promise<BridgeRecord> {
  const platform = supportedPlatform(process.platform, process.arch)
  // Before a download of half a gigabyte, because without one the download would be for nothing.
  const compiler = await findCompiler(options.env, options.signal)
  const libtorch = await findLibtorch({ ...options, platform })
  options.report.line(
    `libtorch ${libtorch.version}${libtorch.cuda ? ' with CUDA' : ''} in ${libtorch.path}: ${libtorch.why}`,
  )
  return compileBridge({ ...options, libtorch, compiler })
}
