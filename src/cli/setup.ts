import { z } from 'zod'
import { reportFor } from '../progress/index.js'
import { packageRoot, setup } from '../setup/index.js'
import { readFlags } from './flags.js'
import { interruptible } from './interrupt.js'

export const help = `Usage: whetstone setup

Finds or downloads libtorch and builds the bridge to it, as \`npm ci\` does. Use it if the package manager skips install scripts,
or after a change of compiler, driver or LIBTORCH. Finished steps are skipped.

  LIBTORCH          directory of a libtorch 2.4 or newer (with include/ and lib/)
  CXX               the C++ compiler
  WHETSTONE_CACHE   directory for a downloaded libtorch (default ~/.cache/whetstone)
  WHETSTONE_CUDA    1: download the CUDA version even without a driver; 0: never download it
`

export async function run(args: string[]): Promise<number> {
  readFlags(args, z.object({}))
  const report = reportFor(process.env)
  return interruptible({
    work: async signal => void (await setup({ root: packageRoot, env: process.env, report, signal })),
    onInterrupt: () =>
      report.line('Setup was interrupted and removed unfinished files. Run `npx whetstone setup` again.'),
  })
}
