import type { z } from 'zod';
export interface SchemaProblemOptions {
    /** The keys there are, for those that were misspelt or written in snake_case. */
    readonly known: readonly string[];
    /** What a key of another system is called here. */
    readonly otherWords?: Readonly<Record<string, string>>;
    /** What a key that is missing is for. */
    readonly describe?: (key: string) => string | undefined;
    /** What was given at a path: messages then say it, and what was expected, in words. */
    readonly valueAt?: (path: readonly PropertyKey[]) => unknown;
}
/**
 * What a schema found, a line each: where, what was expected, and for a key it does not know, which was probably meant.
 *
 * @example
 * const schema = z.strictObject({ rewardClip: z.number() })
 * const result = schema.safeParse({ reward_clip: 1 })
 * if (!result.success) console.log(schemaProblems(result.error, { known: ['rewardClip'] }))
 * // there is no option "reward_clip"; did you mean rewardClip?
 */
export declare function schemaProblems(error: z.ZodError, { known, otherWords, describe, valueAt }: SchemaProblemOptions): string[];
