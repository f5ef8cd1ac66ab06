import type { z } from 'zod';
/**
 * What a schema wanted of a value, in words: `expected a number above 0, got -1`. What the schema's author wrote of it comes
 * first; zod's own messages speak of types.
 */
export declare function expectation(issue: z.core.$ZodIssue, value: unknown): string;
