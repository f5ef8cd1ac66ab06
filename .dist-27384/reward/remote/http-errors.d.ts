import { SourceError } from '../errors.js';
/** What a status other than 200 means for the samples that were asked about. */
export declare function statusError(where: string, status: number, headers: Readonly<Record<string, string | string[] | undefined>>, body: string): SourceError;
/** A connection that was not made, or broke: worth another attempt, unless it is the certificate that is not trusted. */
export declare function transportError(where: string, error: unknown, hide: (text: string) => string): SourceError;
