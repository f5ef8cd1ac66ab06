/** Where two descriptions of a model part, by the names of their fields. */
export declare function differences(theirs: unknown, own: unknown, path?: string): string[];
