/** What a scheduler knows of a sequence: how long it is, how much of it is computed, where that lies, and who asked for it. Pure. */
/** All of a prompt but its last token, computed once for the samples that wait for it. */
export class Prefix {
    length;
    scoredTo;
    blocks = [];
    computed = 0;
    state = 'idle';
    /** Samples that have not started. */
    waiting = 0;
    constructor(length, scoredTo = 0) {
        this.length = length;
        this.scoredTo = scoredTo;
    }
}
export class CachedSequence {
    length;
    prefix;
    scoredTo;
    blocks = [];
    computed = 0;
    preemptions = 0;
    /** The caller that asked for it. */
    lane;
    state = 'waiting';
    constructor(
    /** Tokens there are: the prompt's and the generated ones. */
    length, prefix, scoredTo = 0) {
        this.length = length;
        this.prefix = prefix;
        this.scoredTo = scoredTo;
        if (prefix)
            prefix.waiting++;
    }
}
//# sourceMappingURL=cached-sequence.js.map