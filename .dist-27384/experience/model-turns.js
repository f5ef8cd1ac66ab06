/** Where the device holds all of them. The engine may have been left asleep by others who used it before. */
export const noTurns = (generator) => ({
    beginGeneration: async () => {
        if (generator.capabilities.sleep)
            await generator.wake();
    },
    beginScoring: async () => { },
    use: (_, work) => work(),
    end: async () => { },
});
export class ModelTurns {
    options;
    models;
    /** The one that is on the device; undefined at first: all may be. */
    current;
    /** Undefined before the first generation: models may work, as they did when they were loaded. */
    phase;
    waiting = [];
    running;
    constructor(options) {
        this.options = options;
        this.models = new Set([options.actor, ...options.models].filter(model => model.capabilities.offload));
    }
    async beginGeneration() {
        if (this.phase === 'generation')
            return;
        await this.running;
        const { actor, generator } = this.options;
        const shared = generator.capabilities.weights.includes('shared');
        await this.leaveOnly(shared ? actor : undefined);
        if (generator.capabilities.sleep)
            await generator.wake();
        this.phase = 'generation';
    }
    async beginScoring() {
        if (this.phase === 'scoring')
            return;
        const { generator } = this.options;
        if (generator.capabilities.sleep)
            await generator.sleep();
        this.phase = 'scoring';
        this.start();
    }
    use(model, work) {
        return new Promise((resolve, reject) => {
            const run = () => work().then(resolve, reject);
            this.waiting.push({ model, run, fail: reject });
            this.start();
        });
    }
    async end() {
        await this.beginScoring();
        await this.running;
        await this.leaveOnly(this.options.actor);
    }
    start() {
        if (this.phase === 'generation' || this.running || this.waiting.length === 0)
            return;
        this.running = this.serve().finally(() => {
            this.running = undefined;
            this.start();
        });
    }
    /** The calls of the model that has the device first, then those of the others in the order they came. */
    async serve() {
        while (this.waiting.length > 0 && this.phase !== 'generation') {
            const at = Math.max(0, this.waiting.findIndex(({ model }) => model === this.current));
            const [next] = this.waiting.splice(at, 1);
            try {
                await this.leaveOnly(next.model);
            }
            catch (error) {
                // Such as a card without room for it.
                next.fail(error);
                continue;
            }
            await next.run();
        }
    }
    async leaveOnly(model) {
        if (model !== undefined && this.current === model)
            return;
        // Where one of these fails, nobody knows who is there.
        this.current = undefined;
        for (const other of this.models)
            if (other !== model)
                await other.offload();
        if (model && this.models.has(model))
            await model.reload();
        this.current = model;
    }
}
//# sourceMappingURL=model-turns.js.map