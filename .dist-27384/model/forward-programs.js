/**
 * The recorded programs of a model: one for every kind of batch, made when it is first needed. Weights are captured, so a
 * program stays right while they are trained.
 */
import { decode, headWeight, ropeTables, rowsOf } from '../decoder/index.js';
import { full, linear, noGrad, record, scope, Tensor, unscoped, } from '../tensor/index.js';
import { makeLanguageHead, planKey } from './head.js';
/** Indices come as int32, which JavaScript fills fast; some operators take only int64. */
const wide = (indices) => indices.toCopy({ dtype: 'int64' });
export class ForwardPrograms {
    parts;
    device;
    programs = new Map();
    tables;
    mask;
    backwards = new Map();
    constructor(parts, device) {
        this.parts = parts;
        this.device = device;
    }
    headWeight(kind) {
        return kind === 'score' ? this.parts.weights.get('score.weight') : headWeight(this.parts);
    }
    program(options) {
        const { rows: kind, short, head, training, adapter, dropout } = options;
        const key = [
            kind,
            short,
            training,
            adapter,
            dropout,
            head.kind,
            head.kind === 'language' ? planKey(head.plan) : '',
        ].join();
        const known = this.programs.get(key);
        if (known)
            return known;
        const parts = {
            ...this.parts,
            adapter: adapter ? this.parts.adapter : undefined,
            gradientCheckpointing: training && (this.parts.gradientCheckpointing ?? false),
            gradients: training ? 'recorded' : 'none',
        };
        const languageHead = head.kind === 'language'
            ? makeLanguageHead(head.plan, parts.ops, this.device === 'cpu' ? undefined : parts.ops.logprobs(parts.config.vocabSize))
            : undefined;
        // The last layer is computed for wanted rows alone, except where each keeps nothing but its input, or has keys for all rows.
        const early = this.device === 'cpu' && !parts.gradientCheckpointing && !dropout;
        const extra = { uniform: 0, packed: 2, shared: 2, varlen: 1 }[kind] + (short ? 1 : 0) + (dropout ? 1 : 0);
        const kinds = [...Array(6 + extra).fill('tensor'), 'number', 'number'];
        const made = record(kinds, (...inputs) => {
            const tensors = inputs.slice(0, -2);
            const [ids, ropePositions, cosTable, sinTable, wanted, targets] = tensors;
            const [length, inverseTemperature] = inputs.slice(-2);
            const dropoutKeys = dropout ? tensors.pop() : undefined;
            const run = () => {
                const rows = rowsOf(kind, length, tensors
                    .slice(6)
                    .map((tensor, i) => ((kind === 'packed' || kind === 'shared') && i < 2 ? wide(tensor) : tensor)));
                const angle = (table) => table.indexSelect(0, ropePositions);
                const places = { cos: angle(cosTable), sin: angle(sinTable), rows, dropoutKeys };
                const hidden = early
                    ? decode(parts, ids, places, wanted)
                    : decode(parts, ids, places).indexSelect(0, wanted);
                if (languageHead)
                    return languageHead(hidden, this.headWeight('language'), wide(targets), inverseTemperature);
                if (head.kind === 'logits')
                    return [linear(hidden, this.headWeight('logits')).toCopy({ dtype: 'float32' })];
                return [hidden.matmul(this.headWeight('score').t()).squeeze(1).toCopy({ dtype: 'float32' })];
            };
            return training ? run() : noGrad(run);
        });
        this.programs.set(key, made);
        return made;
    }
    ropeFor(length) {
        if (!this.tables || this.tables.positions < length) {
            const positions = Math.max(512, 2 ** Math.ceil(Math.log2(length)));
            this.tables?.cos.dispose();
            this.tables?.sin.dispose();
            this.tables = { ...unscoped(() => ropeTables(this.parts.config, positions, this.device)), positions };
        }
        return this.tables;
    }
    maskFor(length) {
        if (this.mask?.length !== length) {
            this.mask?.tensor.dispose();
            const tensor = unscoped(() => scope(() => full([length, length], -Infinity).triu(1)));
            this.mask = { tensor, length };
        }
        return this.mask.tensor;
    }
    /** Runs a batch; the caller owns the outputs, one number per wanted row each. */
    async run(plan, arrays, options, temperature) {
        const { cos, sin } = this.ropeFor(plan.length);
        const made = [];
        const upload = (array, shape = [array.length]) => {
            const tensor = unscoped(() => Tensor.from(array, { device: this.device, shape }));
            made.push(tensor);
            return tensor;
        };
        try {
            const tensors = [
                upload(arrays.ids),
                upload(arrays.ropePositions),
                cos,
                sin,
                upload(arrays.rows),
                upload(arrays.targets),
            ];
            if (options.rows === 'packed' || options.rows === 'shared')
                tensors.push(upload(arrays.pad), upload(arrays.unpad));
            if (options.rows === 'varlen')
                tensors.push(upload(arrays.cuSeqlens));
            if (options.short)
                tensors.push(this.maskFor(plan.length));
            if (options.dropout)
                tensors.push(upload(arrays.dropoutKeys, [arrays.dropoutKeys.length / 4, 4]));
            return (await this.program(options).run(...tensors, plan.length, 1 / temperature));
        }
        finally {
            for (const tensor of made)
                tensor.dispose();
        }
    }
    /** Adds to the parameters' gradients what follows from these gradients of a pass's outputs. */
    async backward(outputs, gradients) {
        let program = this.backwards.get(outputs.length);
        if (!program) {
            const kinds = Array.from({ length: 2 * outputs.length }, () => 'tensor');
            program = record(kinds, (...inputs) => {
                const tensors = inputs;
                const terms = outputs.map((_, i) => tensors[i].mul(tensors[outputs.length + i]).sum());
                terms.reduce((sum, term) => sum.add(term)).backward();
            });
            this.backwards.set(outputs.length, program);
        }
        const uploaded = gradients.map(array => unscoped(() => Tensor.from(array, { device: this.device })));
        try {
            await program.run(...outputs, ...uploaded);
        }
        finally {
            for (const tensor of uploaded)
                tensor.dispose();
        }
    }
    dispose() {
        for (const program of [...this.programs.values(), ...this.backwards.values()])
            program.dispose();
        this.programs.clear();
        this.backwards.clear();
        this.releaseTables();
    }
    /** Frees what is made again when it is next needed. */
    releaseTables() {
        this.tables?.cos.dispose();
        this.tables?.sin.dispose();
        this.tables = undefined;
        this.mask?.tensor.dispose();
        this.mask = undefined;
    }
}
//# sourceMappingURL=forward-programs.js.map