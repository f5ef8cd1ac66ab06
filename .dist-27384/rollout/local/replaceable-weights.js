/** The weights of an engine that nobody trains: replaced from disk while requests are in flight, given away and taken back. */
import { Adapter } from '../../model/index.js';
export class ReplaceableWeights {
    model;
    engine;
    constructor(model, engine) {
        this.model = model;
        this.engine = engine;
    }
    /** Whether the engine has room for adapters. */
    get takesAdapters() {
        return this.engine.exchangesAdapters;
    }
    /** Why nothing can be generated: a directory was read half. */
    get broken() {
        return this.model.broken;
    }
    /** Requests in flight wait, and go on with the new weights. A directory that does not fit leaves the old ones. */
    async reload(directory) {
        await this.engine.pause();
        try {
            await this.model.loadWeights(directory);
        }
        finally {
            this.engine.resume();
        }
    }
    /** An adapter in PEFT's format, to be used now and then; the caller disposes it. */
    readAdapter(directory) {
        const { dtype, device, config } = this.model;
        return Adapter.load(directory, config.decoder, { dtype, device });
    }
    /** What is sampled from the next token on; undefined: the weights without an adapter. */
    useAdapter(adapter) {
        return this.engine.useAdapter(adapter);
    }
    /** Moves the weights off their device, while the engine sleeps. */
    offload() {
        return this.model.offload();
    }
    restore() {
        return this.model.reload();
    }
}
//# sourceMappingURL=replaceable-weights.js.map