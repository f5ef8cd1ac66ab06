/** Calls that are not generation: each is a step with a name, and fails with the server's own words. */
import type { ServerConnection } from './dialect.js';
import { EngineError } from './errors.js';
export interface ServerCall {
    /** For messages: `pausing`, `loading the weights in /ckpt/7`. */
    readonly step: string;
    readonly method?: 'GET' | 'POST';
    readonly path: string;
    readonly body?: unknown;
    readonly timeoutMs?: number;
}
/** The parsed body of a success; undefined where it is empty or no JSON. */
export declare function callServer(server: ServerConnection, call: ServerCall): Promise<unknown>;
export declare function stepError(server: ServerConnection, step: string, status: number, text: string): EngineError;
/** A JSON object, or a `ProtocolError`. */
export declare function asObject(value: unknown, what: string): Readonly<Record<string, unknown>>;
export declare function asArray(value: unknown, what: string): readonly unknown[];
