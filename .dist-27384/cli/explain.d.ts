/** Errors written for people are shown as they are; any other is a defect, and its stack is what helps. */
export declare function explain(error: unknown): string;
