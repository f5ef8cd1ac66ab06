export class Lanes {
    quantum;
    /** Sequences that wait, of all callers. */
    waiting = 0;
    byCaller = new Map();
    /** Lanes with sequences that wait, in the order of their turns. */
    queue = [];
    constructor(
    /** Sequences of a turn. */
    quantum) {
        this.quantum = quantum;
    }
    /** Callers that have sequences, waiting or running. */
    get count() {
        return this.byCaller.size;
    }
    add(sequence, caller) {
        let lane = this.byCaller.get(caller);
        if (!lane) {
            lane = { caller, waiting: [], running: 0, served: 0, passed: 0 };
            this.byCaller.set(caller, lane);
        }
        sequence.lane = lane;
        this.enqueue(sequence, 'last');
    }
    enqueue(sequence, place) {
        const lane = sequence.lane;
        if (lane.waiting.length === 0)
            this.queue.push(lane);
        if (place === 'last')
            lane.waiting.push(sequence);
        else
            lane.waiting.unshift(sequence);
        this.waiting++;
        sequence.state = 'waiting';
    }
    dequeue(sequence, at = sequence.lane.waiting.indexOf(sequence)) {
        const lane = sequence.lane;
        lane.waiting.splice(at, 1);
        if (lane.waiting.length === 0)
            this.queue.splice(this.queue.indexOf(lane), 1);
        this.waiting--;
    }
    /** A waiting sequence gets a place. */
    start(sequence, at) {
        const lane = sequence.lane;
        this.dequeue(sequence, at);
        lane.running++;
        lane.served++;
        lane.passed = 0;
        sequence.state = 'running';
    }
    /** A caller that has no sequences left is forgotten. */
    leave({ caller, running, waiting }) {
        if (running === 0 && waiting.length === 0)
            this.byCaller.delete(caller);
    }
    /** Whose turn it is. Whoever has had one goes behind the others. */
    turn() {
        for (;;) {
            const [first] = this.queue;
            if (!first || first.served < this.quantum || this.queue.length === 1)
                return first;
            first.served = 0;
            this.queue.push(this.queue.shift());
        }
    }
    /** Whose turn it is, where none of its sequences is running beside those of others. */
    newcomer() {
        const lane = this.count > 1 ? this.turn() : undefined;
        return lane?.running === 0 ? lane : undefined;
    }
    /**
     * Who is looked at next, in the course of a turn: those that are not passed over, and that have more sequences than the ones
     * that keep their `places`.
     */
    next(places, passedOver) {
        this.turn();
        let first;
        for (const lane of this.queue) {
            const kept = places.get(lane) ?? 0;
            if (kept >= lane.waiting.length || passedOver.has(lane))
                continue;
            if (lane.served + kept < this.quantum)
                return lane;
            first ??= lane;
        }
        return first;
    }
}
//# sourceMappingURL=lanes.js.map