/** Tokens of one event at most. */
const mostTokens = 64;
export class ChoiceWriter {
    stream;
    show;
    said = new Map();
    /** Tokens written of each choice. */
    written = new Map();
    /** From the first thing said to the end of its writing. */
    isBusy = false;
    whenIdle = [];
    failure;
    constructor(stream, show) {
        this.stream = stream;
        this.show = show;
    }
    /** What is added to the last that the choice said and that is not written yet. */
    add(index, { events = [], sample }) {
        let said = this.said.get(index);
        if (!said) {
            said = { events: [], sample: undefined };
            this.said.set(index, said);
        }
        for (const event of events)
            said.events.push(event);
        said.sample ??= sample;
        if (this.isBusy)
            return;
        this.isBusy = true;
        // At the end of the turn: if a token was the last, that is said with it.
        setImmediate(() => this.write());
    }
    /** Resolves when everything is written; throws what an event could not be made for. */
    async finished() {
        while (this.isBusy)
            await new Promise(resolve => this.whenIdle.push(resolve));
        if (this.failure !== undefined)
            throw this.failure;
    }
    /** Without a promise where there is nothing to wait for: this runs for every token. */
    write() {
        try {
            const waits = this.writeSaid();
            if (waits)
                void waits.then(() => this.write(), error => this.rest(error));
            else
                this.rest(undefined);
        }
        catch (error) {
            this.rest(error);
        }
    }
    rest(failure) {
        this.failure ??= failure;
        this.isBusy = false;
        for (const wake of this.whenIdle.splice(0))
            wake();
    }
    /** A promise where the client or a text has to be waited for; what is said meanwhile is written after it. */
    writeSaid() {
        const all = [...this.said];
        this.said.clear();
        if (this.stream.isClosed)
            return undefined;
        for (const [i, [index, said]] of all.entries()) {
            const waits = this.writeChoice(index, said);
            if (waits)
                return this.writeRest(waits, all.slice(i + 1));
        }
        return this.stream.flush();
    }
    async writeRest(first, rest) {
        await first;
        for (const [index, said] of rest)
            await this.writeChoice(index, said);
        await this.stream.flush();
    }
    writeChoice(index, said) {
        return said.events.length > mostTokens ? this.writeLong(index, said) : this.writeOne(index, said);
    }
    async writeLong(index, { events, sample }) {
        for (let at = 0; at < events.length; at += mostTokens) {
            const isLast = at + mostTokens >= events.length;
            const some = events.slice(at, at + mostTokens);
            await this.writeOne(index, { events: some, sample: isLast ? sample : undefined });
            await this.stream.flush();
        }
    }
    writeOne(index, { events, sample }) {
        const before = this.written.get(index);
        const start = before ?? 0;
        this.written.set(index, start + events.length);
        const shown = this.show({ index, events, sample, first: before === undefined, start });
        if (shown instanceof Promise)
            return shown.then(event => this.stream.add(event));
        this.stream.add(shown);
        return undefined;
    }
}
//# sourceMappingURL=choice-writer.js.map