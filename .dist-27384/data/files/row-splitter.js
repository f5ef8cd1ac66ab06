/** Cuts the bytes of a file into rows as they are read. What a row ends with is the format's affair. */
/** Rows that are longer are no rows of text: they would stop everything else while they are read. */
export const maxRowBytes = 16 * 2 ** 20;
const newline = 10;
export class RowSplitter {
    boundary;
    #pending = [];
    #pendingLength = 0;
    /** Of the row that is pending. */
    #start;
    #line;
    #newlines = 0;
    constructor(boundary, { start = 0, line = 1 } = {}) {
        this.boundary = boundary;
        this.#start = start;
        this.#line = line;
    }
    /** The rows that end in this chunk. */
    *push(chunk) {
        let from = 0;
        for (let end = this.boundary.next(chunk, 0); end >= 0; end = this.boundary.next(chunk, from)) {
            this.#keep(chunk.subarray(from, end));
            yield this.#take();
            from = end;
        }
        if (from < chunk.length)
            this.#keep(chunk.subarray(from));
    }
    /** The row that the file ends with. */
    *end() {
        if (this.#pendingLength > 0 && this.boundary.openEnded)
            yield this.#take();
    }
    #keep(bytes) {
        this.#pendingLength += bytes.length;
        if (this.boundary.lines === 'counted')
            for (let at = bytes.indexOf(newline); at >= 0; at = bytes.indexOf(newline, at + 1))
                this.#newlines++;
        if (this.#pendingLength <= maxRowBytes)
            this.#pending.push(bytes);
        else
            this.#pending = [];
    }
    #take() {
        const length = this.#pendingLength;
        const [only] = this.#pending;
        const bytes = length > maxRowBytes ? undefined : this.#pending.length === 1 ? only : Buffer.concat(this.#pending);
        const row = { start: this.#start, length, line: this.#line, bytes };
        this.#start += length;
        this.#line += this.boundary.lines === 'counted' ? this.#newlines : 1;
        this.#newlines = 0;
        this.#pending = [];
        this.#pendingLength = 0;
        return row;
    }
}
/** Rows that are lines. */
export function lineBoundary() {
    return {
        next: (chunk, from) => {
            const at = chunk.indexOf(newline, from);
            return at < 0 ? -1 : at + 1;
        },
        openEnded: true,
        lines: 'counted',
    };
}
//# sourceMappingURL=row-splitter.js.map