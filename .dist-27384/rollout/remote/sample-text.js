import { TextStream } from '../text-stream.js';
const streamOf = (tokenizer, promptIds, { text, stop }) => new TextStream(tokenizer, promptIds, { skipSpecialTokens: text !== 'with-special', stop });
/** Text as tokens come. */
export class SampleText {
    sampling;
    stream;
    found;
    /** What is being read, where the tokenizer has to be waited for. */
    reading;
    constructor(tokenizer, promptIds, sampling) {
        this.sampling = sampling;
        this.stream = streamOf(tokenizer, promptIds, sampling);
    }
    get shown() {
        return this.stream.text;
    }
    get stopFound() {
        return this.found;
    }
    /**
     * Reads the ids from `from` on, one event each. `endsWithoutText`: the last of them ended the response and has no text.
     * Nothing after a stop string is told.
     */
    read(ids, from, { isLast, endsWithoutText }, event) {
        const until = ids.length;
        const step = (start) => {
            for (let i = start; i < until; i++) {
                if (this.found)
                    return undefined;
                const last = isLast(i);
                const silent = last && endsWithoutText;
                const early = i + 1 < this.sampling.minNewTokens;
                const waits = this.stream.push(silent ? [] : [ids[i]], {
                    last,
                    ...(early ? { stops: 'ignored' } : {}),
                });
                const tell = () => {
                    if (this.stream.stopped !== undefined)
                        this.found = { end: i + 1, stop: this.stream.stopped };
                    event(i, this.stream.take({ last: last || this.found !== undefined }));
                };
                if (waits)
                    return waits.then(() => {
                        tell();
                        return step(i + 1);
                    });
                tell();
            }
            return undefined;
        };
        if (!this.reading) {
            const waits = step(from);
            if (waits)
                this.hold(waits);
            return waits;
        }
        const waits = this.reading.then(() => step(from));
        this.hold(waits);
        return waits;
    }
    hold(waits) {
        const held = waits.finally(() => {
            if (this.reading === held)
                this.reading = undefined;
        });
        this.reading = held;
        held.catch(() => { });
    }
}
/** All of it at once, and where a stop string ended it: after the token that completed it. */
export async function finalText(tokenizer, promptIds, ids, { sampling, reason, stop }) {
    const stream = streamOf(tokenizer, promptIds, sampling);
    const endsWithoutText = reason === 'stop' && typeof stop !== 'string';
    const count = endsWithoutText ? ids.length - 1 : ids.length;
    let end = ids.length;
    if (sampling.stop.length === 0) {
        const waits = stream.push(ids.slice(0, count), { last: true });
        if (waits)
            await waits;
    }
    else
        for (let i = 0; i < count; i++) {
            const early = i + 1 < sampling.minNewTokens;
            const waits = stream.push([ids[i]], { last: i === count - 1, ...(early ? { stops: 'ignored' } : {}) });
            if (waits)
                await waits;
            if (stream.stopped !== undefined) {
                end = i + 1;
                break;
            }
        }
    return { text: stream.text, end, stop: stream.stopped };
}
//# sourceMappingURL=sample-text.js.map