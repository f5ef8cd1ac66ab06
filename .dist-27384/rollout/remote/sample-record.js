export class SampleRecord {
    allIds = [];
    allLogprobs = [];
    allTop = [];
    spans = [];
    get length() {
        return this.allIds.length;
    }
    get ids() {
        return this.allIds;
    }
    get top() {
        return this.allTop;
    }
    get versions() {
        return this.spans;
    }
    get logprobs() {
        return this.allLogprobs;
    }
    append({ ids, logprobs, top }, version) {
        const start = this.allIds.length;
        for (let i = 0; i < ids.length; i++) {
            this.allIds.push(ids[i]);
            this.allLogprobs.push(logprobs[i]);
            if (top)
                this.allTop.push(top[i]);
        }
        this.stamp(version, start, this.allIds.length);
    }
    /** Says anew which weights made the tokens from `offset` on; the spans count from there. */
    restamp(offset, spans) {
        this.cutSpans(offset);
        for (const { version, start, end } of spans)
            this.stamp(version, offset + start, offset + end);
    }
    /** Forgets the tokens after the first `length`. */
    truncate(length) {
        this.allIds.length = Math.min(length, this.allIds.length);
        this.allLogprobs.length = this.allIds.length;
        this.allTop.length = Math.min(length, this.allTop.length);
        this.cutSpans(length);
    }
    cutSpans(length) {
        while (this.spans.length > 0 && this.spans.at(-1).start >= length)
            this.spans.pop();
        const last = this.spans.at(-1);
        if (last && last.end > length)
            last.end = length;
    }
    stamp(version, start, end) {
        if (end <= start)
            return;
        const last = this.spans.at(-1);
        if (last?.version === version)
            last.end = end;
        else
            this.spans.push({ version, start, end });
    }
}
//# sourceMappingURL=sample-record.js.map