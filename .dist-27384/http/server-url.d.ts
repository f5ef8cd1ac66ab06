/** A server's address as a person gave it, its secrets taken apart. */
export interface ServerUrl {
    /** Without user and password. */
    readonly url: URL;
    /** The header that they become. */
    readonly authorization: string | undefined;
    /** What no message may show. */
    readonly secrets: readonly string[];
}
/** Undefined where it is no address of an HTTP server. The text itself should not be shown: it may hold a password. */
export declare function parseServerUrl(text: string): ServerUrl | undefined;
/** A URL as messages show it: without user, password, query and fragment. */
export declare function shownUrl(url: URL): string;
/** Whether a header can hold the key; a library would refuse it with the key in its message. */
export declare function isApiKey(key: string): boolean;
