/** Blocks of the KV cache: which are free, and how many sequences hold each. Pure. */
/** Tokens of a block. The attention kernel is written for it. */
export const blockSize = 16;
export const blocksFor = (tokens) => Math.ceil(tokens / blockSize);
/** Blocks a sequence may hold. One more than its tokens fill: a block is copied when samples part from their prompt. */
export const blocksOfSequence = (maxLength) => blocksFor(maxLength) + 1;
export class BlockPool {
    size;
    holders;
    free;
    constructor(size) {
        this.size = size;
        this.holders = new Int32Array(size);
        // Taken from the end: the first blocks first.
        this.free = Array.from({ length: size }, (_, i) => size - 1 - i);
    }
    get available() {
        return this.free.length;
    }
    take() {
        const block = this.free.pop();
        if (block === undefined)
            throw new RangeError('no block is free');
        this.holders[block] = 1;
        return block;
    }
    hold(block) {
        this.holders[block]++;
    }
    isShared(block) {
        return this.holders[block] > 1;
    }
    release(block) {
        if (this.holders[block] < 1)
            throw new RangeError(`block ${block} is not held`);
        if (--this.holders[block] === 0)
            this.free.push(block);
    }
    /** The block that the next token goes into is read by others too. */
    sharesNext({ blocks, computed }) {
        const block = blocks[Math.floor(computed / blockSize)];
        return block !== undefined && this.isShared(block);
    }
    /** Makes that block the holder's own, by a copy where others read it too: `copies` gets the pair of from and to. */
    copyOnWrite(of, copies) {
        if (!this.sharesNext(of))
            return;
        const at = Math.floor(of.computed / blockSize);
        const copy = this.take();
        copies.push(of.blocks[at], copy);
        this.release(of.blocks[at]);
        of.blocks[at] = copy;
    }
    /** Takes blocks up to this number of tokens. */
    extend({ blocks }, tokens) {
        while (blocks.length < blocksFor(tokens))
            blocks.push(this.take());
    }
    /** Gives all blocks back: nothing is computed. */
    drop(of) {
        for (const block of of.blocks)
            this.release(block);
        of.blocks = [];
        of.computed = 0;
    }
}
//# sourceMappingURL=blocks.js.map