/** Tokens before that matter. */
const context = 5;
export function tokenReader(tokenizer, options) {
    const before = options.before.subarray(-context);
    return tokenizer.byteLevel
        ? new ByteReader(tokenizer.byteLevel, { ...options, before })
        : new WindowReader(tokenizer, { ...options, before });
}
const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
const none = new Uint8Array(0);
/** Joins what tokens stand for. */
class ByteReader {
    tokens;
    options;
    /** The beginning of a character. */
    begun = none;
    /** It was begun before the first token. */
    begunBefore = false;
    constructor(tokens, options) {
        this.tokens = tokens;
        this.options = options;
        this.read(options.before, { last: false });
        this.begunBefore = true;
    }
    read(ids, { last }) {
        let text = '';
        for (let i = 0; i < ids.length; i++) {
            const piece = this.tokens.pieceOf(ids[i], this.options);
            if (piece.length === 0)
                continue;
            if (typeof piece === 'string')
                text += this.giveUp() + piece;
            else
                text += this.join(piece);
        }
        return last ? text + this.giveUp() : text;
    }
    join(bytes) {
        const before = isContinuation(bytes[0]) ? '' : this.giveUp();
        const all = this.begun.length === 0 ? bytes : Uint8Array.of(...this.begun, ...bytes);
        const end = all.length - unfinishedLength(all);
        this.begun = all.subarray(end);
        this.begunBefore = false;
        return before + decoder.decode(all.subarray(0, end));
    }
    /** The text of a character that will not be finished. One that was begun before is not part of this text. */
    giveUp() {
        if (this.begun.length === 0)
            return '';
        const text = this.begunBefore ? '' : decoder.decode(this.begun);
        this.begun = none;
        return text;
    }
}
function isContinuation(byte) {
    return byte >= 0x80 && byte < 0xc0;
}
/** How many bytes at the end are the beginning of a character that more bytes may finish. */
function unfinishedLength(bytes) {
    for (let back = 1; back <= Math.min(3, bytes.length); back++) {
        const byte = bytes[bytes.length - back];
        if (isContinuation(byte))
            continue;
        const size = byte < 0x80 ? 1 : byte < 0xe0 ? 2 : byte < 0xf0 ? 3 : 4;
        return back < size ? back : 0;
    }
    return 0;
}
const unfinished = '�';
/** How a token reads may depend on the one before, so text is decoded in windows that begin at the last settled token. */
class WindowReader {
    tokenizer;
    options;
    ids;
    settled;
    from = 0;
    constructor(tokenizer, options) {
        this.tokenizer = tokenizer;
        this.options = options;
        this.ids = Array.from(options.before);
        this.settled = this.ids.length;
    }
    async read(ids, { last }) {
        for (let i = 0; i < ids.length; i++)
            this.ids.push(ids[i]);
        const { skipSpecialTokens } = this.options;
        const [before, all] = await Promise.all([
            this.tokenizer.decode(this.ids.slice(this.from, this.settled), { skipSpecialTokens }),
            this.tokenizer.decode(this.ids.slice(this.from), { skipSpecialTokens }),
        ]);
        if (!last && (all.length <= before.length || all.endsWith(unfinished)))
            return '';
        this.from = this.settled;
        this.settled = this.ids.length;
        return all.slice(before.length);
    }
}
//# sourceMappingURL=token-reader.js.map