export declare const help: string;
export declare function run([name, ...rest]: string[]): Promise<number>;
