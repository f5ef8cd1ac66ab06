import { noGrad, record, Tensor, unscoped, } from '../../tensor/index.js';
export class StepGraphs {
    options;
    /** Taken when a step is first run, and given back while the engine sleeps. */
    held;
    known = new Map();
    generationSeen = 0;
    constructor(options) {
        this.options = options;
    }
    get results() {
        return this.memory.results;
    }
    get memory() {
        const { state, results } = this.options;
        this.held ??= { state: this.words(state), results: this.words(results), forbidden: this.words(1024) };
        return this.held;
    }
    words(count) {
        return unscoped(() => Tensor.empty([count], { dtype: 'int32', device: this.options.device }));
    }
    /** The graph, whose next replay starts from this. What was started before must be over. */
    async ready(graph, state, forbiddenIds) {
        const generation = this.options.storageGeneration();
        if (generation !== this.generationSeen)
            this.discard();
        this.generationSeen = generation;
        const { memory } = this;
        if (forbiddenIds.length > memory.forbidden.numel) {
            // Graphs read the ids where they lie.
            this.discard();
            memory.forbidden.dispose();
            memory.forbidden = this.words(2 ** Math.ceil(Math.log2(forbiddenIds.length)));
        }
        const captured = this.known.get(graph.key)?.captured ?? (await this.capture(graph));
        if (forbiddenIds.length > 0)
            write(memory.forbidden, forbiddenIds);
        write(memory.state, state);
        return captured;
    }
    async capture(graph) {
        const { state, forbidden, results } = this.memory;
        const part = ({ at, words }) => state.narrow(0, at, words);
        const parts = {
            part,
            rest: at => part({ at, words: state.numel - at }),
            samplingRows: (count, positions, parts) => ({
                count,
                positions,
                settings: part(parts.settings).viewDtype({ dtype: 'float32' }),
                keys: part(parts.keys),
                targetIds: part(parts.targetIds),
                forbiddenOffsets: part(parts.forbiddenOffsets),
                forbidden,
            }),
            results,
        };
        const program = record([], () => noGrad(() => graph.record(parts)));
        write(state, graph.empty);
        const [beside] = this.known.values();
        const captured = await program.capture([], { warmups: 1, beside: beside?.captured });
        this.known.set(graph.key, { program, captured });
        return captured;
    }
    discard() {
        for (const { program, captured } of this.known.values()) {
            captured.dispose();
            program.dispose();
        }
        this.known.clear();
    }
    /** Gives all memory back; the next step takes it again. */
    release() {
        this.discard();
        for (const tensor of Object.values(this.held ?? {}))
            tensor.dispose();
        this.held = undefined;
    }
}
/** Copies an array to the beginning of a tensor, and waits until it is there. */
function write(target, values) {
    if (values.length > target.numel)
        throw new RangeError(`${values.length} words do not fit ${target.numel}`);
    unscoped(() => {
        const [source, part] = [Tensor.from(values), target.narrow(0, 0, values.length)];
        part.copy_(source);
        source.dispose();
        part.dispose();
    });
}
//# sourceMappingURL=step-graphs.js.map