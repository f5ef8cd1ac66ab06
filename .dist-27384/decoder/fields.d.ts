/** Fields of a JSON file, read by schemas whose messages name the file, the field, and what it should have been. */
import { z } from 'zod';
/** The message of a field that is not what it should be. */
export declare const expected: (what: string) => {
    error: ({ input }: {
        input?: unknown;
    }) => string;
};
/** A value of a file, in a message. */
export declare function shown(value: unknown): string;
export declare const count: z.ZodInt;
export declare const number: z.ZodNumber;
export declare const positiveNumber: z.ZodNumber;
export declare const flag: z.ZodBoolean;
export declare const text: z.ZodString;
/** What the schema makes of `raw`; the first field that does not fit is named. */
export declare function readFields<T>(schema: z.ZodType<T>, raw: unknown, file: string): T;
