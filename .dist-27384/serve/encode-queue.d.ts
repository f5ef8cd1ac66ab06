/**
 * Text to ids, outside the event loop and a bounded number at once: the threads that encode are those that read files and
 * resolve names too. Short texts, which take a moment, do not wait behind long ones.
 */
import type { BoundedEncoding, EncodeUpToOptions, Tokenizer } from '../text/index.js';
export declare class EncodeQueue {
    private readonly tokenizer;
    private readonly atOnce;
    private running;
    private readonly waiting;
    constructor(tokenizer: Pick<Tokenizer, 'encodeUpTo'>, atOnce?: number);
    encode(text: string, options: EncodeUpToOptions): Promise<BoundedEncoding>;
    /** Resolves when it may run; a caller that has gone waits no longer. */
    private turn;
}
