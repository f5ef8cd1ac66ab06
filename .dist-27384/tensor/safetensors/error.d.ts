import { WhetstoneError } from '../../errors/index.js';
/** A safetensors file or checkpoint that cannot be trusted, read or written; names the file and, where there is one, the tensor. */
export declare class SafetensorsError extends WhetstoneError {
    readonly name = "SafetensorsError";
    readonly file: string;
    readonly tensor: string | undefined;
    constructor(problem: string, where: {
        file: string;
        tensor?: string | undefined;
        cause?: unknown;
    });
}
/** A name from an untrusted file, safe and short enough for one line of a message. */
export declare function quote(name: unknown): string;
