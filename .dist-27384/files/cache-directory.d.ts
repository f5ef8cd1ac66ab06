/** Where things that can be made again are kept between runs, for all Whetstones of a user: libtorch, compiled kernels. */
export declare function cacheDirectory(env?: NodeJS.ProcessEnv): string;
