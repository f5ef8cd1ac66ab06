export declare function help(args: readonly string[]): string;
export declare function run([action, ...rest]: string[]): Promise<number>;
