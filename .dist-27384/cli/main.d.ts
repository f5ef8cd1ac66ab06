/** Runs one command line; resolves to the exit code: 0 done, 1 failed, 2 misused, 130 interrupted. */
export declare function main(args: string[]): Promise<number>;
