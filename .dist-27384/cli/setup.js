import { z } from 'zod';
import { reportFor } from '../progress/index.js';
import { packageRoot, setup } from '../setup/index.js';
import { readFlags } from './flags.js';
import { interruptible } from './interrupt.js';
export const help = `Usage: whetstone setup

Finds or fetches libtorch and builds the bridge to it: what \`npm ci\` does, for package managers that skip install scripts
and for after a change of compiler, driver or LIBTORCH. Does nothing that is already done.

  LIBTORCH          a libtorch 2.4 or newer to use (the directory with include/ and lib/)
  CXX               the C++ compiler
  WHETSTONE_CACHE   where a fetched libtorch is kept (~/.cache/whetstone)
  WHETSTONE_CUDA    1 fetches CUDA even without a driver here, 0 never does
`;
export async function run(args) {
    readFlags(args, z.object({}));
    const report = reportFor(process.env);
    return interruptible({
        work: async (signal) => void (await setup({ root: packageRoot, env: process.env, report, signal })),
        onInterrupt: () => report.line('Setup was interrupted; nothing unfinished is left behind. `npx whetstone setup` starts it again.'),
    });
}
//# sourceMappingURL=setup.js.map