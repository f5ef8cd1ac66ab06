import { type Chunk } from './choice-writer.js';
import type { Exchange, Served } from './exchange.js';
import { type JsonObject } from './request-shape.js';
import { type Generation } from './run-request.js';
import type { SamplingRequest } from './sampling-fields.js';
export interface StreamShape {
    head: object;
    /** Events before any token. */
    opening?: readonly object[];
    /** A promise where texts have to be waited for. */
    choice(chunk: Chunk, promptIds: Int32Array): object | Promise<object>;
}
export interface StreamRequest extends Generation {
    /** The body's `stream_options`. */
    streamOptions: JsonObject | undefined;
}
/** Fields that go with `stream` alone, or not with it. */
export declare function checkStream({ stream, stream_options: options }: {
    stream?: boolean | undefined;
    stream_options?: JsonObject | undefined;
}, { promptLogprobs }: SamplingRequest): void;
export declare function streamChoices(served: Served, exchange: Exchange, request: StreamRequest, { head, opening, choice }: StreamShape): Promise<void>;
