import type { Refusal } from '../remote/dialect.js';
/** What a status that is no success means. */
export declare function refusal(status: number, text: string, retryAfter: string | undefined): Refusal;
