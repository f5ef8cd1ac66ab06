export declare const help: string;
export declare function run(args: string[]): Promise<number>;
