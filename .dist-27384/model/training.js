/** What a training step needs beside the gradients: the optimiser, and where they came from. */
import { AdamW, adamWRates, checkClipNorm, NonFiniteGradientError, scope, } from '../tensor/index.js';
import { ModelError, NonFiniteError } from './errors.js';
/** Of the weights that are trained; those of the noDecay kinds do not decay. The rates come with each step. Takes the masters over. */
export function makeAdamW(weights, masters, settings) {
    const { noDecay = [] } = settings;
    const kinds = new Map(weights.weightMap.map(({ name, kind }) => [name, kind]));
    const trained = [...weights.trained()];
    const decays = (name) => !noDecay.includes(kinds.get(name) ?? 'matrix');
    const group = (wanted) => new Map(trained.filter(([name]) => decays(name) === wanted));
    return new AdamW([
        { parameters: group(true), masters, lr: 0 },
        { parameters: group(false), masters, lr: 0 },
    ]);
}
/** Refuses, as a `RangeError`, what AdamW cannot work with: a number that is none would reach the weights. */
export function checkStepOptions(options) {
    adamWRates(options);
    checkClipNorm(options.clipNorm);
}
/** The options of one step of `makeAdamW`'s two groups, in their order. */
export function stepRates(settings, options) {
    const { betas = settings.betas, eps = settings.eps, weightDecay = settings.weightDecay, lr } = options;
    const rates = { lr, ...(betas && { betas }), ...(eps !== undefined && { eps }) };
    return [{ ...rates, ...(weightDecay !== undefined && { weightDecay }) }, rates];
}
/** The calls behind the gradients that a step will apply, and whether all of them were computed to their end. */
export class Accumulation {
    calls = [];
    sequences = 0;
    failure;
    get empty() {
        return this.calls.length === 0;
    }
    begin(sequences, options) {
        const call = { sequences, options, firstSequence: this.sequences, gradients: new Map() };
        this.sequences += sequences.length;
        this.calls.push(call);
        return call;
    }
    fail(cause) {
        this.failure ??= { cause };
    }
    refuseHalf() {
        if (this.failure)
            throw new ModelError('a forwardBackward since the last step failed, and what it left is half a batch; zeroGrad() drops it', this.failure);
    }
    clear() {
        this.calls = [];
        this.sequences = 0;
        this.failure = undefined;
    }
    /**
     * Finds the sequence behind a gradient that is not finite: `replay` computes a call again, here with one sequence, and
     * gives its gradients. Where none alone has one, the error stays what it was.
     */
    async blame(error, replay) {
        if (!(error instanceof NonFiniteGradientError))
            return error;
        for (const [number, { sequences, options, firstSequence, gradients }] of this.calls.entries()) {
            const { from, groupSize: _, signal: __, ...rest } = options;
            for (const [index, gradient] of gradients) {
                const first = typeof from === 'object' ? from[index] : from;
                const single = {
                    sequences: [sequences[index]],
                    options: { ...rest, ...(first === undefined ? {} : { from: first }) },
                    firstSequence: firstSequence + index,
                    gradients: new Map(),
                };
                const found = await replay(single, gradient);
                const finite = scope(() => [...found.values()].every(own => own.isfinite().all().item() !== 0));
                for (const own of found.values())
                    own.dispose();
                if (!finite)
                    return new NonFiniteError('the gradient', index, {
                        cause: error,
                        ...(this.calls.length > 1 && { call: number + 1 }),
                    });
            }
        }
        return error;
    }
}
/** Keeps apart what would see each other's half-done work: passes may overlap, anything that changes the model may not. */
export class Turns {
    passes = 0;
    change;
    async pass(what, work) {
        if (this.change)
            throw new ModelError(`${this.change} is under way; await it before ${what}`);
        this.passes++;
        try {
            return await work();
        }
        finally {
            this.passes--;
        }
    }
    async alone(what, work) {
        this.refuse(what);
        this.change = what;
        try {
            return await work();
        }
        finally {
            this.change = undefined;
        }
    }
    refuse(what) {
        const busy = this.change ?? (this.passes > 0 ? 'forwardBackward()' : undefined);
        if (busy)
            throw new ModelError(`${busy} is under way; await it before ${what}`);
    }
}
//# sourceMappingURL=training.js.map