import { compileBridge } from './compile-bridge.js';
import { findCompiler } from './compiler.js';
import { findLibtorch } from './find-libtorch.js';
import { supportedPlatform } from './platform.js';
/** Everything between `npm ci` and a working bridge. */
export async function setup(options) {
    const platform = supportedPlatform(process.platform, process.arch);
    // Before a download of half a gigabyte, because without one the download would be for nothing.
    const compiler = await findCompiler(options.env, options.signal);
    const libtorch = await findLibtorch({ ...options, platform });
    options.report.line(`libtorch ${libtorch.version}${libtorch.cuda ? ' with CUDA' : ''} in ${libtorch.path}: ${libtorch.why}`);
    return compileBridge({ ...options, libtorch, compiler });
}
//# sourceMappingURL=setup.js.map