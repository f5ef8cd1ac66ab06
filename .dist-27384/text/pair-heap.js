/**
 * A binary heap: highest count first, ties by `compareKeys`. Counts change while entries wait; the owner notices a stale
 * entry when it comes out and puts it back with the count it now has.
 */
export class PairHeap {
    #entries = [];
    #compareKeys;
    constructor(compareKeys) {
        this.#compareKeys = compareKeys;
    }
    push(entry) {
        const entries = this.#entries;
        let at = entries.push(entry) - 1;
        while (at > 0) {
            const parent = (at - 1) >> 1;
            if (!this.#before(entry, entries[parent]))
                break;
            entries[at] = entries[parent];
            at = parent;
        }
        entries[at] = entry;
    }
    pop() {
        const entries = this.#entries;
        const top = entries[0];
        const last = entries.pop();
        if (last === undefined || entries.length === 0)
            return top;
        let at = 0;
        for (let child = 1; child < entries.length; child = 2 * at + 1) {
            if (child + 1 < entries.length && this.#before(entries[child + 1], entries[child]))
                child++;
            if (!this.#before(entries[child], last))
                break;
            entries[at] = entries[child];
            at = child;
        }
        entries[at] = last;
        return top;
    }
    #before(a, b) {
        return a.count !== b.count ? a.count > b.count : this.#compareKeys(a.key, b.key) < 0;
    }
}
//# sourceMappingURL=pair-heap.js.map