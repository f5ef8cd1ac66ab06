/** Text of a response as its tokens come, and stop strings in it. */
import { tokenReader } from '../text/index.js';
/**
 * The text is kept in three parts, because a string that grows is copied as a whole whenever it is searched or cut: only
 * the last part, never longer than a stop string, is.
 */
export class TextStream {
    /** The stop string that was found. */
    stopped;
    reader;
    stop;
    longest;
    given = '';
    free = '';
    /** May be the beginning of a stop string. */
    held = '';
    constructor(tokenizer, promptIds, { skipSpecialTokens, stop }) {
        this.reader = tokenReader(tokenizer, { skipSpecialTokens, before: promptIds });
        this.stop = stop;
        this.longest = Math.max(0, ...stop.map(one => one.length));
    }
    /** Everything that is certain, up to a stop string. */
    get text() {
        return this.given + this.free + this.held;
    }
    /**
     * Takes tokens; `last` also settles what may be part of a character. `stops: 'ignored'`: in their text nothing stops.
     * A promise where the tokenizer has to be waited for.
     */
    push(ids, { last = false, stops } = {}) {
        if (this.stopped !== undefined)
            return undefined;
        const read = this.reader.read(ids, { last });
        if (typeof read !== 'string')
            return read.then(text => this.append(text, stops));
        this.append(read, stops);
        return undefined;
    }
    append(text, stops) {
        if (text === '')
            return;
        const tail = this.held + text;
        if (stops === 'ignored' || this.longest === 0) {
            this.free += tail;
            this.held = '';
            return;
        }
        let end = Number.POSITIVE_INFINITY;
        for (const stop of this.stop) {
            const at = tail.indexOf(stop);
            if (at >= 0 && at < end) {
                end = at;
                this.stopped = stop;
            }
        }
        if (this.stopped === undefined)
            end = wholeCharacters(tail, Math.max(0, tail.length - this.longest + 1));
        this.free += tail.slice(0, end);
        this.held = this.stopped === undefined ? tail.slice(end) : '';
    }
    /** What can be shown and was not given yet. Text that may be the beginning of a stop string is held back until the end. */
    take({ last = false } = {}) {
        if (last) {
            this.free += this.held;
            this.held = '';
        }
        const part = this.free;
        this.given += part;
        this.free = '';
        return part;
    }
}
/** `end`, or one less where it would part the two halves of a character. */
function wholeCharacters(text, end) {
    const parts = end > 0 && end < text.length && text.codePointAt(end - 1) > 0xffff;
    return parts ? end - 1 : end;
}
//# sourceMappingURL=text-stream.js.map