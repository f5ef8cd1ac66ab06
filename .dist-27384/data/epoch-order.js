/** Which example an epoch visits when: by seed, epoch and weights alone, with no list of it in memory. Pure. */
import { Permutation } from './shuffle.js';
export class EpochOrder {
    options;
    /** Visits of an epoch; the same for each. */
    size;
    #visits;
    #epoch;
    constructor(options) {
        this.options = options;
        this.#visits = options.sources.map(({ size, weight }) => (size === 0 ? 0 : Math.max(1, Math.round(size * weight))));
        this.size = this.#visits.reduce((sum, visits) => sum + visits, 0);
    }
    at(epoch, position) {
        let place = this.options.shuffle ? this.#order(epoch).at(position) : position;
        let source = 0;
        while (place >= this.#visits[source])
            place -= this.#visits[source++];
        const { size } = this.options.sources[source];
        const whole = Math.floor(this.#visits[source] / size);
        const copy = Math.floor(place / size);
        if (copy < whole)
            return { source, place: place % size, copy };
        // What is left of a weight goes on where the last epoch's stopped, so that every row has its turn.
        const part = this.#visits[source] % size;
        const next = (epoch * part + (place % size)) % size;
        return { source, place: this.options.shuffle ? this.#parts(source).at(next) : next, copy };
    }
    #order(epoch) {
        if (this.#epoch?.number !== epoch)
            this.#epoch = { number: epoch, order: new Permutation(this.size, `${this.options.seed}/epoch/${epoch}`) };
        return this.#epoch.order;
    }
    #parts(source) {
        return new Permutation(this.options.sources[source].size, `${this.options.seed}/source/${source}`);
    }
}
//# sourceMappingURL=epoch-order.js.map