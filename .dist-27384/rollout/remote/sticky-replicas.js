/** Prompts that are remembered. */
const most = 8192;
/** The least loaded server; of the same prompt the same, whose cache has it, unless that one is clearly fuller. */
export class StickyReplicas {
    last = new Map();
    choose(promptId, candidates) {
        let least;
        for (const replica of candidates)
            if (!least || replica.running.size < least.running.size)
                least = replica;
        if (!least)
            return undefined;
        const before = this.last.get(promptId);
        if (before && candidates.includes(before) && before.running.size <= 1.25 * least.running.size + 4)
            return before;
        this.last.delete(promptId);
        this.last.set(promptId, least);
        if (this.last.size > most)
            this.last.delete(this.last.keys().next().value);
        return least;
    }
}
//# sourceMappingURL=sticky-replicas.js.map