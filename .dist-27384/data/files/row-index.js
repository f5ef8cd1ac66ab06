export class RowIndex {
    #starts = new GrowingList(Float64Array);
    #lengths = new GrowingList(Uint32Array);
    /** Rows whose line is not the one after the last row's, with that line. Most files have few. */
    #jumpRows = new GrowingList(Uint32Array);
    #jumpLines = new GrowingList(Float64Array);
    #line = 0;
    get size() {
        return this.#starts.length;
    }
    add({ start, length, line }) {
        if (line !== this.#line + 1) {
            this.#jumpRows.push(this.size);
            this.#jumpLines.push(line);
        }
        this.#line = line;
        this.#starts.push(start);
        this.#lengths.push(length);
    }
    at(row) {
        return { start: this.#starts.at(row), length: this.#lengths.at(row), line: this.#lineOf(row) };
    }
    lengthOf(row) {
        return this.#lengths.at(row);
    }
    #lineOf(row) {
        const jump = lastAtMost(this.#jumpRows, row);
        return jump < 0 ? row + 1 : this.#jumpLines.at(jump) + row - this.#jumpRows.at(jump);
    }
}
/** The last place of a sorted list that holds at most `value`, or -1. */
export function lastAtMost(list, value) {
    let low = 0;
    let high = list.length;
    while (low < high) {
        const middle = (low + high) >>> 1;
        if (list.at(middle) <= value)
            low = middle + 1;
        else
            high = middle;
    }
    return low - 1;
}
const pieceSize = 1 << 14;
/** A typed array that grows a piece at a time. */
export class GrowingList {
    Type;
    #pieces = [];
    #length = 0;
    constructor(Type) {
        this.Type = Type;
    }
    get length() {
        return this.#length;
    }
    push(value) {
        const offset = this.#length % pieceSize;
        if (offset === 0)
            this.#pieces.push(new this.Type(pieceSize));
        this.#pieces[this.#pieces.length - 1][offset] = value;
        this.#length++;
    }
    at(i) {
        return this.#pieces[Math.floor(i / pieceSize)][i % pieceSize];
    }
}
//# sourceMappingURL=row-index.js.map