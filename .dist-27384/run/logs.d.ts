import type { Json } from './exact-json.js';
/** A row or a sample that was left out. */
export interface SkippedRecord {
    /** Such as `data.jsonl:17`. */
    readonly where: string;
    /** A short word that can be counted. */
    readonly reason: string;
    /** A sentence for people. */
    readonly message: string;
    readonly [field: string]: Json | undefined;
}
export interface OpenLogsOptions {
    /** On a resume: how many bytes each file had at the checkpoint the run goes back to. What came after is cut off. */
    readonly rewind?: {
        readonly offsets: Readonly<Record<string, number>>;
    };
}
export declare class RunLogs {
    #private;
    private constructor();
    static open(directory: string, { rewind }?: OpenLogsOptions): Promise<RunLogs>;
    metrics(step: number, values: Readonly<Record<string, number>>): void;
    event(kind: string, fields: Readonly<Record<string, Json | undefined>>): void;
    skipped(record: SkippedRecord): void;
    sample(record: Readonly<Record<string, Json | undefined>>): void;
    /** Bytes in each file; after `flush`, those of everything logged before it. */
    get offsets(): Record<string, number>;
    flush(): Promise<void>;
    close(): Promise<void>;
}
