import { homedir } from 'node:os';
import { join, resolve } from 'node:path';
/** Where things that can be made again are kept between runs, for all Whetstones of a user: libtorch, compiled kernels. */
export function cacheDirectory(env = process.env) {
    return resolve(env.WHETSTONE_CACHE || join(env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'whetstone'));
}
//# sourceMappingURL=cache-directory.js.map