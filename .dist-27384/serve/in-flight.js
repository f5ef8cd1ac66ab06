/** How long an unknown name is remembered: a call that ends a request may overtake it on its way. */
const earlyMs = 2000;
const mostEarly = 20_000;
export class InFlight {
    engine;
    flights = new Map();
    /** Names that were to end before they came, and until when that counts; the oldest first. */
    early = new Map();
    constructor(engine) {
        this.engine = engine;
    }
    /** `id`: the answer's, which several may share. `prompts`: their names in the engine. */
    add(id, prompts) {
        const flight = new Flight(prompts, this.engine, () => {
            const all = this.flights.get(id);
            all?.delete(flight);
            if (all?.size === 0)
                this.flights.delete(id);
        });
        const known = this.flights.get(id);
        if (known)
            known.add(flight);
        else
            this.flights.set(id, new Set([flight]));
        if (this.early.size > 0) {
            if (this.cameEarly(id))
                flight.abort();
            for (const prompt of prompts.keys())
                if (this.cameEarly(`${id}-${prompt}`))
                    flight.abortPrompt(prompt);
        }
        return flight;
    }
    /** Ends a request by its answer's id, or prompt k of it by `id-k`. */
    abort(name) {
        const whole = this.flights.get(name);
        for (const flight of whole ?? [])
            flight.abort();
        const [, id = '', prompt] = /^(.*)-(\d+)$/.exec(name) ?? [];
        const partly = this.flights.get(id);
        for (const flight of partly ?? [])
            flight.abortPrompt(Number(prompt));
        if (!whole && !partly)
            this.remember(name);
    }
    remember(name) {
        const now = performance.now();
        this.early.delete(name);
        this.early.set(name, now + earlyMs);
        for (const [oldest, until] of this.early) {
            if (until > now && this.early.size <= mostEarly)
                break;
            this.early.delete(oldest);
        }
    }
    cameEarly(name) {
        const until = this.early.get(name);
        this.early.delete(name);
        return until !== undefined && until > performance.now();
    }
    /** Answers with how many there were. */
    abortAll() {
        const all = [...this.flights.values()].flatMap(flights => [...flights]);
        for (const flight of all)
            flight.abort();
        return all.length;
    }
}
export class Flight {
    prompts;
    engine;
    land;
    ended = new AbortController();
    aborted = new Set();
    constructor(prompts, engine, 
    /** It has been answered. */
    land) {
        this.prompts = prompts;
        this.engine = engine;
        this.land = land;
    }
    /** Aborted when all of it is to end. */
    get signal() {
        return this.ended.signal;
    }
    isAborted(prompt) {
        return this.signal.aborted || this.aborted.has(prompt);
    }
    abort() {
        this.ended.abort();
    }
    abortPrompt(prompt) {
        const name = this.prompts[prompt];
        if (name === undefined)
            return;
        this.aborted.add(prompt);
        if (this.aborted.size === this.prompts.length)
            this.abort();
        else
            this.engine.abort(name);
    }
}
//# sourceMappingURL=in-flight.js.map