/** `; did you mean --json?`, or nothing when no known name is near. */
export declare function didYouMean(given: string, known: readonly string[], prefix?: string): string;
/** The known name that was probably meant. */
export declare function nearest(given: string, known: readonly string[]): string | undefined;
