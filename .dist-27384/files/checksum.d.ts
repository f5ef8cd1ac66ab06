/** CRC-32 in hex: finds damage at several gigabytes a second. It does not protect against somebody who changes a file on purpose. */
export declare function fileCrc32(path: string): Promise<string>;
/** SHA-256 in hex, as `sha256sum` prints it. */
export declare function fileSha256(path: string): Promise<string>;
