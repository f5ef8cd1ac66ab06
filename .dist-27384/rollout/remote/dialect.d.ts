/**
 * What engines behind a network have in common, and where they differ. `RemoteGenerator` owns the requests: replicas, retries,
 * partial responses, versions. A dialect owns the words: what a server is asked, and how its answers are read.
 */
import type { TopLogprobs } from '../generator.js';
import type { LogprobMeaning } from '../logprob-meaning.js';
import type { ResolvedSampling, StructuredKind } from '../sampling.js';
/** One HTTP exchange with one server: within its deadline there is an answer with a status, or an `EngineError`. */
export interface ServerConnection {
    /** Without user, password and query. */
    readonly url: string;
    /** Whether a key, or a user and a password, go with every request. */
    readonly sendsKey?: boolean;
    request(method: 'GET' | 'POST', path: string, options?: {
        body?: unknown;
        timeoutMs?: number;
        signal?: AbortSignal;
    }): Promise<{
        status: number;
        text: string;
    }>;
}
/** What a server is and can do, asked once when it is connected to and again when it comes back. */
export interface ServerFacts {
    /** Of its software. */
    readonly software: string;
    /** The model's name in requests. */
    readonly model: string;
    /** Tokens a prompt and its response may have together, and a prompt alone. */
    readonly maxLength: number;
    readonly maxPromptLength: number;
    readonly logprobs: LogprobMeaning;
    readonly topLogprobs: number;
    /** Undefined: any. */
    readonly maxTemperature?: number;
    /** Pause, resume and weights from a directory; undefined, or why not: what the server was started without. */
    readonly control: 'full' | {
        readonly missing: string;
    };
    /**
     * Whether answers say which weights made each token, by names that `update` sets. Where not, or where there is no `control`,
     * requests are broken off and sent again around an update.
     */
    readonly marksVersions: boolean;
    /**
     * `position`: a seed gives a token at a place of the sequence the same random number whichever request asks for it, so that the
     * rest of a response keeps its sample's seed. `request`: each request draws from the beginning; the rest needs a seed of its own.
     */
    readonly seeds: 'position' | 'request';
    readonly sleep: boolean;
    readonly adapters: boolean;
    /** A checkpoint that is loaded changes the embedding and not the output head, where both are one matrix. */
    readonly keepsTiedHead?: boolean;
    readonly structured: readonly StructuredKind[];
    /** What a server needs for the forms it lacks: a version, a flag. */
    readonly structuredNeeds?: string;
    /** What else the dialect wants to remember of it. */
    readonly [further: string]: unknown;
}
/** One request for one response, or for the rest of one. */
export interface GenerationAttempt {
    /** Unique among all that were ever sent. */
    readonly id: string;
    /** The prompt, and after it what was sampled before. */
    readonly ids: Int32Array;
    /** `ids` as JSON, shared by the samples of a prompt. */
    readonly idsJson: string;
    readonly maxNewTokens: number;
    readonly minNewTokens: number;
    readonly temperature: number;
    readonly seed: number;
    /** Everything else: filters, stops, forbidden ids, alternatives, structure. */
    readonly sampling: ResolvedSampling;
    /** The loaded adapter to sample from; undefined: the model's own weights. */
    readonly adapter: string | undefined;
    /** Also the prompt's log-probabilities, with this many of the likeliest tokens. */
    readonly promptLogprobs: number | undefined;
    readonly transport: 'whole' | 'stream';
}
/** What a server said: all of it, or what an event of a stream adds. */
export interface GenerationAnswer {
    readonly ids: readonly number[];
    readonly logprobs: readonly number[];
    /** One per id, where alternatives were asked for. */
    readonly top: readonly TopLogprobs[] | undefined;
    /** Undefined before the end. */
    readonly finish: {
        readonly reason: 'stop' | 'length' | 'abort';
        readonly stop: string | number | undefined;
    } | undefined;
    /** In the server's own words, over the ids of the whole attempt; with the end alone. */
    readonly versions: readonly {
        readonly version: string;
        readonly start: number;
        readonly end: number;
    }[] | undefined;
    readonly promptLogprobs: {
        readonly logprobs: Float32Array;
        readonly top: readonly TopLogprobs[];
    } | undefined;
}
/** What a status that is no success means for the sample. */
export type Refusal = 
/** The prompt does not fit: the sample's own end. */
{
    readonly kind: 'prompt-too-long';
    readonly message: string;
}
/** The server has no such weights: it was started anew, and must be given them. */
 | {
    readonly kind: 'unknown-weights';
    readonly message: string;
}
/** The request will not do here, however often it is sent. */
 | {
    readonly kind: 'refused';
    readonly message: string;
}
/** It may do later, or elsewhere. */
 | {
    readonly kind: 'retry';
    readonly message: string;
    readonly afterMs: number | undefined;
};
export type DialectUpdate = 
/** The weights stay; what they are called in answers changes. Only where `marksVersions`. */
{
    readonly kind: 'name';
    readonly marker: string;
} | {
    readonly kind: 'directory';
    readonly path: string;
    readonly marker: string;
} | {
    readonly kind: 'adapter';
    readonly path: string;
    readonly name: string;
};
/** What a server tells by looking at it alone. */
export interface InspectedServer {
    readonly software: string;
    /** Undefined: it is found out when a run connects. */
    readonly control: ServerFacts['control'] | undefined;
    readonly keepsTiedHead: boolean;
}
export interface Dialect {
    readonly type: 'vllm' | 'sglang';
    /** Changes nothing on the server, also where another run uses it. */
    inspect(server: ServerConnection): Promise<InspectedServer>;
    /** Throws an `EngineError` where the server lacks what every run needs, and names the version that has it. */
    probe(server: ServerConnection): Promise<ServerFacts>;
    /** Whether it takes requests. Cheap, and safe while it is paused. */
    isReady(server: ServerConnection): Promise<boolean>;
    generation(attempt: GenerationAttempt, facts: ServerFacts): {
        readonly path: string;
        readonly body: string;
    };
    /** Reads a whole answer, already parsed: long ones are parsed a little at a time. What is not as agreed is a `ProtocolError`. */
    answer(body: unknown, attempt: GenerationAttempt, facts: ServerFacts): GenerationAnswer;
    /** The same of a text, where a dialect can do so with less than parsing all of it; undefined: not this one. */
    quickAnswer?(text: string, attempt: GenerationAttempt, facts: ServerFacts): GenerationAnswer | undefined;
    /** Reads one event of a stream after another. Cumulative or not, what it answers is what was added; an error event is a `RefusalError`. */
    reader(attempt: GenerationAttempt, facts: ServerFacts): (event: string) => GenerationAnswer | undefined;
    refusal(status: number, text: string, retryAfter: string | undefined): Refusal;
    /** Ends requests under way, which then answer with what they have. */
    abort(server: ServerConnection, attemptIds: readonly string[]): Promise<void>;
    /** `keep`: requests wait, and go on with whatever weights there are then. `break-off`: they end with what they have. */
    pause(server: ServerConnection, mode: 'keep' | 'break-off'): Promise<void>;
    resume(server: ServerConnection): Promise<void>;
    /** Between `pause` and `resume`. Caches of other weights are gone afterwards. Each step's failure says the server's own words. */
    update(server: ServerConnection, update: DialectUpdate, facts: ServerFacts): Promise<void>;
    /** Forgets an adapter that nothing uses any more. */
    unload(server: ServerConnection, name: string): Promise<void>;
    /** What the weights it serves are called; undefined where the server cannot say. */
    marker(server: ServerConnection, facts: ServerFacts): Promise<string | undefined>;
    /** Something that is another after the server was started anew; undefined where it has nothing of the kind. */
    instance(server: ServerConnection): Promise<string | undefined>;
    /** Of its weights and computation, or the quantization; undefined where it does not say. May take seconds. */
    dtype(server: ServerConnection): Promise<string | undefined>;
    /** Nothing is under way. */
    sleep(server: ServerConnection): Promise<void>;
    wake(server: ServerConnection): Promise<void>;
}
