import { DataError } from './errors.js';
/** Bytes of rows that are read ahead at most; one row is always read. */
const aheadBytes = 32 * 2 ** 20;
/** Examples that are read ahead where a caller takes them one at a time. */
const fewest = 32;
export class Counts {
    truncated = 0;
    dropped = {};
    firstDropped;
    /** The example, or undefined for one that was dropped. */
    note(encoded) {
        if (encoded.kind === 'dropped') {
            this.dropped[encoded.reason] = (this.dropped[encoded.reason] ?? 0) + 1;
            this.firstDropped ??= encoded.message;
            return undefined;
        }
        if (encoded.truncated)
            this.truncated++;
        return encoded.example;
    }
}
/** What to say where every example was dropped. */
export function whyEmpty({ dropped, firstDropped }) {
    const reasons = Object.entries(dropped).map(([reason, count]) => `${reason} ${count}`);
    const advice = dropped.overlong === undefined ? '' : '; raise maxLength, or shorten the rows';
    return `every example is left out (${reasons.join(', ')}; the first: ${firstDropped})${advice}`;
}
export class ShuffledStream {
    source;
    counts = new Counts();
    #ahead = [];
    #aheadBytes = 0;
    #cursor = { epoch: 0, position: 0 };
    /** Examples of the epoch so far, where it was followed from its beginning. */
    #given = 0;
    constructor(source) {
        this.source = source;
    }
    get size() {
        return this.source.order.size;
    }
    get cursor() {
        return this.#cursor;
    }
    seek({ epoch, position }) {
        if (!Number.isInteger(epoch) || epoch < 0 || !Number.isInteger(position) || position < 0 || position >= this.size)
            throw new DataError(`there is no place ${position} in epoch ${epoch} of this data, which has ${this.size} examples; it is not the data that the run began with`);
        this.#cursor = { epoch, position };
        this.#ahead = [];
        this.#aheadBytes = 0;
        // Of what came before it is known only that something did.
        this.#given = position === 0 ? 0 : 1;
    }
    async take(count) {
        if (!Number.isInteger(count) || count < 1)
            throw new RangeError(`expected a number of examples to take, got ${count}`);
        const start = this.#cursor;
        try {
            const taken = await this.#take(count);
            this.#fill(Math.max(fewest, count));
            return taken;
        }
        catch (error) {
            // Whoever tries again gets what this call would have given.
            this.seek(start);
            throw error;
        }
    }
    async #take(count) {
        const taken = [];
        let { epoch } = this.#cursor;
        while (taken.length < count && this.#cursor.epoch === epoch) {
            this.#fill(count - taken.length + Math.max(fewest, count));
            const example = this.counts.note(await this.#next());
            if (example !== undefined) {
                taken.push(example);
                this.#given++;
            }
            this.#advance();
            // Where all that was left of an epoch was dropped, these are the first of the next.
            if (taken.length === 0)
                epoch = this.#cursor.epoch;
        }
        return taken;
    }
    #next() {
        const { bytes, loading } = this.#ahead.shift();
        this.#aheadBytes -= bytes;
        return loading;
    }
    #advance() {
        const { epoch, position } = this.#cursor;
        if (position + 1 < this.size) {
            this.#cursor = { epoch, position: position + 1 };
            return;
        }
        if (this.#given === 0)
            throw new DataError(`data: ${whyEmpty(this.counts)}`);
        this.#given = 0;
        this.#cursor = { epoch: epoch + 1, position: 0 };
    }
    #fill(wanted) {
        // What is taken is of one epoch: more than two of them need not be there, however many are asked for.
        const most = Math.min(wanted, 2 * this.size);
        const last = this.#ahead.at(-1);
        let next = last ? this.#after(last) : this.#cursor;
        while (this.#ahead.length < most && (this.#ahead.length === 0 || this.#aheadBytes < aheadBytes)) {
            const visit = this.source.order.at(next.epoch, next.position);
            const bytes = this.source.bytesOf(visit);
            const loading = this.source.load(visit);
            // It is waited for in its turn; until then a failure is nobody's.
            loading.catch(() => { });
            this.#ahead.push({ ...next, bytes, loading });
            this.#aheadBytes += bytes;
            next = this.#after(next);
        }
    }
    #after({ epoch, position }) {
        return position + 1 < this.size ? { epoch, position: position + 1 } : { epoch: epoch + 1, position: 0 };
    }
}
export class FixedSet {
    source;
    counts = new Counts();
    constructor(source) {
        this.source = source;
    }
    get size() {
        return this.source.order.size;
    }
    async *parts(count) {
        const { size } = this.source.order;
        let part = [];
        let next = this.#load(0);
        for (let from = 0; from < size; from += fewest) {
            const loaded = await next;
            // The next ones load while what is yielded below is in use.
            next = this.#load(from + fewest);
            for (const encoded of loaded) {
                const example = this.counts.note(encoded);
                if (example !== undefined)
                    part.push(example);
                if (part.length < count)
                    continue;
                yield part;
                part = [];
            }
        }
        if (part.length > 0)
            yield part;
    }
    #load(from) {
        const { order } = this.source;
        const places = Array.from({ length: Math.max(0, Math.min(fewest, order.size - from)) }, (_, i) => from + i);
        const loading = Promise.all(places.map(place => this.source.load(order.at(0, place))));
        // It is waited for in its turn; until then a failure is nobody's.
        loading.catch(() => { });
        return loading;
    }
}
//# sourceMappingURL=example-stream.js.map