import type { SentError } from './messages.js';
export declare function sentError(error: unknown): SentError;
/** The error again, with the place in the file that it came from. */
export declare function receivedError(sent: SentError, file: string): Error;
