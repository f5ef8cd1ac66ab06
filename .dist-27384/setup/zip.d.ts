/** The archive does not say what it should: cut short, damaged, or hostile. */
export declare class BrokenArchiveError extends Error {
    readonly name = "BrokenArchiveError";
}
export interface ZipEntry {
    name: string;
    size: number;
    executable: boolean;
    directory: boolean;
    crc: number;
    compressedSize: number;
    deflated: boolean;
    /** Where its local header starts. */
    offset: number;
}
export interface Zip {
    entries: ZipEntry[];
    /** The entry's bytes; ends with BrokenArchiveError when they are not the ones the directory promises. */
    read(entry: ZipEntry): AsyncGenerator<Buffer>;
    close(): Promise<void>;
}
export declare function openZip(path: string): Promise<Zip>;
/** The whole content of a small entry. */
export declare function readWhole(zip: Zip, entry: ZipEntry): Promise<Buffer>;
