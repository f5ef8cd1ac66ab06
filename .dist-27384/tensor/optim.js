/**
 * AdamW. A step is two programs on a thread of their own: the norms of the gradients, which are looked at before anything
 * changes, then clipping and the fused update. 16-bit parameters are updated through float32 copies.
 */
import { adamwStep, COUNTERS, rateNames } from './adamw-kernel.js';
import { noGrad } from './autograd.js';
import { ArgumentError, TensorError } from './errors.js';
import { foreachAdd_, foreachCopy_, foreachMul_, foreachNorm, fusedAdamw_, stack, zeros, } from './operators.generated.js';
import { record } from './program.js';
import { scope, unscoped } from './scope.js';
/** The norm of a gradient is not finite, so the gradient is not, or it is too large for its square. No weight was changed. */
export class NonFiniteGradientError extends TensorError {
    parameters;
    name = 'NonFiniteGradientError';
    constructor(parameters) {
        const more = parameters.length > 5 ? ` and ${parameters.length - 5} more` : '';
        super(`the norm of the gradient is not finite in ${parameters.slice(0, 5).join(', ')}${more}; this step changed no weight`);
        this.parameters = parameters;
    }
}
/**
 * The options with defaults in place. A number that is not one, or that float32 cannot hold, is a `RangeError`: it would
 * reach the weights.
 */
export function adamWRates(options) {
    const { lr, betas = [0.9, 0.999], eps = 1e-8, weightDecay = 0 } = options;
    const refuse = (name, expected, value) => {
        throw new RangeError(`${name} should be ${expected}, got ${String(value)}`);
    };
    const finite = (value) => typeof value === 'number' && Number.isFinite(Math.fround(value));
    if (!finite(lr) || lr < 0)
        refuse('lr', 'a number of 0 or more that float32 holds', lr);
    if (!finite(weightDecay) || weightDecay < 0)
        refuse('weightDecay', 'a number of 0 or more that float32 holds', weightDecay);
    if (!finite(lr * weightDecay))
        refuse('lr times weightDecay', 'a number that float32 holds', lr * weightDecay);
    if (!finite(eps) || !(Math.fround(eps) > 0))
        refuse('eps', 'more than 0 and a number that float32 holds', eps);
    if (!Array.isArray(betas) || betas.length !== 2)
        refuse('betas', 'two numbers', betas);
    for (const [i, beta] of betas.entries())
        if (!finite(beta) || beta < 0 || Math.fround(beta) >= 1)
            refuse(`betas[${i}]`, 'at least 0 and below 1, in float32', beta);
    return { lr, betas, eps, weightDecay };
}
/** `RangeError` for a bound that is none. */
export function checkClipNorm(clipNorm) {
    if (clipNorm !== undefined && !(typeof clipNorm === 'number' && clipNorm > 0))
        throw new RangeError(`clipNorm should be more than 0, got ${String(clipNorm)}; leave it out for no clipping`);
}
const rateNumbers = ({ lr, betas: [beta1, beta2], eps, weightDecay }) => {
    const numbers = { lr, beta1, beta2, logBeta1: Math.log(beta1), logBeta2: Math.log(beta2), eps, weightDecay };
    return rateNames.map(name => numbers[name]);
};
/**
 * Adam with decoupled weight decay, by libtorch's fused operator; the numbers are PyTorch's.
 *
 * ```ts
 * const optimizer = new AdamW([{ parameters: weights, lr: 1e-3, weightDecay: 0.1 }, { parameters: norms, lr: 1e-3 }])
 * loss.backward()
 * const { norm } = await optimizer.step({ clipNorm: 1 })
 * optimizer.zeroGrad()
 * ```
 */
export class AdamW {
    groups;
    prepared = new Map();
    /** So few numbers on the CPU that a step takes less than handing it to another thread. */
    short;
    constructor(groups) {
        for (const group of groups)
            adamWRates(group);
        const seen = new Set();
        const makeSlot = (name, parameter, master) => {
            if (seen.has(name))
                throw new ArgumentError(`parameter ${name} is in two groups`);
            seen.add(name);
            const { dtype, device, shape } = parameter;
            const narrow = dtype === 'bfloat16' || dtype === 'float16';
            const target = narrow ? (master ?? noGrad(() => parameter.toCopy({ dtype: 'float32' }))) : parameter;
            const moment = () => zeros(shape, { dtype: target.dtype, device });
            return {
                ...{ name, parameter, target },
                step: zeros([], { dtype: 'float32', device }),
                ...{ firstMoment: moment(), secondMoment: moment() },
            };
        };
        // Outlives whatever scope it is made in.
        this.groups = unscoped(() => groups.map(({ parameters, masters, ...options }) => ({
            options,
            slots: [...parameters].map(([name, parameter]) => makeSlot(name, parameter, masters?.get(name))),
        })));
        const parameters = this.groups.flatMap(({ slots }) => slots.map(({ parameter }) => parameter));
        this.short =
            parameters.every(({ device }) => device === 'cpu') &&
                parameters.reduce((sum, { numel }) => sum + numel, 0) < 1 << 18;
    }
    prepare() {
        const active = this.groups.map(({ slots }) => slots.filter(({ parameter }) => scope(() => parameter.grad !== undefined)));
        const all = active.flat();
        if (all.length === 0)
            throw new ArgumentError('no parameter has a gradient; call backward() first');
        const names = all.map(({ name }) => name);
        const key = names.join('\n');
        const known = this.prepared.get(key);
        if (known)
            return known;
        const norms = record([], () => noGrad(() => {
            const gradients = all.map(({ parameter }) => parameter.grad);
            return stack(foreachNorm(gradients, 2, { dtype: normDtype(all) })).toCopy({ dtype: 'float64' });
        }));
        const kinds = Array(1 + rateNames.length * this.groups.length).fill('number');
        const update = record(kinds, (scale, ...numbers) => noGrad(() => {
            const changed = active.flatMap(slots => {
                const given = numbers.splice(0, rateNames.length);
                const rates = Object.fromEntries(rateNames.map((name, i) => [name, given[i]]));
                return slots.length > 0 ? recordUpdate(slots, scale, rates) : [];
            });
            return changed.length > 0 ? stack(changed).sum() : undefined;
        }));
        const narrow = all
            .filter(({ parameter, target }) => parameter !== target)
            .reduce((sum, { parameter }) => sum + parameter.numel, 0);
        const fresh = { names, norms, update, narrow };
        this.prepared.set(key, fresh);
        return fresh;
    }
    /**
     * Applies the accumulated gradients. A gradient whose norm is not finite is refused before any weight changes; parameters
     * without a gradient are left alone. Gradients stay until `zeroGrad`.
     */
    async step(options = {}) {
        const { clipNorm, lrScale = 1, lossScale = 1, groups = [] } = options;
        checkClipNorm(clipNorm);
        const rates = this.groups.map(({ options }, i) => {
            const wanted = adamWRates({ ...options, ...groups[i] });
            return adamWRates({ ...wanted, lr: wanted.lr * lrScale });
        });
        const { names, norms, update, narrow } = this.prepare();
        const tensor = await (this.short ? norms.runShort() : norms.run());
        const values = await tensor.data();
        tensor.dispose();
        const bad = names.filter((_, i) => !Number.isFinite(values[i]));
        if (bad.length > 0)
            throw new NonFiniteGradientError(bad);
        const norm = Math.sqrt(values.reduce((sum, value) => sum + value * value, 0)) / lossScale;
        const scale = clipNorm === undefined ? 1 : Math.min(1, clipNorm / (norm + 1e-6));
        const numbers = rates.flatMap(rateNumbers);
        const factor = scale / lossScale;
        const count = await (this.short ? update.runShort(factor, ...numbers) : update.run(factor, ...numbers));
        if (!count)
            return { norm, scale, changed: undefined };
        const [changed] = await count.data();
        count.dispose();
        return { norm, scale, changed: Number(changed) / narrow };
    }
    /** Drops the gradients; the next `backward` makes new ones. */
    zeroGrad() {
        for (const { slots } of this.groups)
            for (const { parameter } of slots)
                parameter.grad = undefined;
    }
    /** The float32 copies of 16-bit parameters, by name: the optimiser's own. */
    masters() {
        const slots = this.groups.flatMap(({ slots }) => slots);
        return new Map(slots.flatMap(({ name, parameter, target }) => (target === parameter ? [] : [[name, target]])));
    }
    /**
     * Everything that `load` needs to continue exactly, float32 copies included, by name. The tensors are the optimiser's own:
     * write them out, do not dispose them.
     */
    state() {
        const saved = new Map();
        for (const { slots } of this.groups) {
            for (const { name, parameter, target, step, firstMoment, secondMoment } of slots) {
                if (target !== parameter)
                    saved.set(`${name}.master`, target);
                saved.set(`${name}.step`, step);
                saved.set(`${name}.exp_avg`, firstMoment);
                saved.set(`${name}.exp_avg_sq`, secondMoment);
            }
        }
        return saved;
    }
    load(saved) {
        const mine = this.state();
        const missing = [...mine.keys()].filter(name => !saved.has(name));
        const unknown = [...saved.keys()].filter(name => !mine.has(name));
        if (missing.length + unknown.length > 0) {
            throw new ArgumentError(`the saved optimiser state is of another model: ${missing.length} missing (${missing[0] ?? '-'}), ${unknown.length} unknown (${unknown[0] ?? '-'})`);
        }
        scope(() => noGrad(() => {
            for (const [name, tensor] of mine)
                tensor.copy_(saved.get(name));
        }));
    }
    dispose() {
        for (const tensor of this.state().values())
            tensor.dispose();
        for (const { norms, update } of this.prepared.values()) {
            norms.dispose();
            update.dispose();
        }
        this.prepared.clear();
    }
}
/**
 * Records the update of some of one group's slots from their gradients times `scale`. Answers with the numbers of 16-bit weights
 * that change, to be added up.
 */
function recordUpdate(slots, scale, rates) {
    foreachAdd_(slots.map(({ step }) => step), 1);
    const byKernel = slots.filter(({ parameter, target }) => parameter !== target && parameter.device !== 'cpu');
    const fused = slots.filter(slot => !byKernel.includes(slot));
    return [...recordKernels(byKernel, scale, rates), ...(fused.length > 0 ? recordFused(fused, scale, rates) : [])];
}
function recordKernels(slots, scale, rates) {
    if (slots.length === 0)
        return [];
    const changed = zeros([COUNTERS], { dtype: 'int64', device: slots[0].parameter.device });
    for (const { parameter, target, firstMoment, secondMoment, step } of slots) {
        const given = { parameter, copy: target, first: firstMoment, second: secondMoment, step, gradient: parameter.grad };
        adamwStep({ ...given, changed }, scale, rates);
    }
    return [changed.sum()];
}
function recordFused(slots, scale, rates) {
    const gradients = slots.map(({ parameter, target }) => parameter === target ? parameter.grad : parameter.grad.toCopy({ dtype: 'float32' }));
    foreachMul_(gradients, scale);
    const of = (key) => slots.map(slot => slot[key]);
    const { lr, beta1, beta2, weightDecay, eps } = rates;
    const options = { lr, beta1, beta2, weightDecay, eps, amsgrad: false, maximize: false };
    fusedAdamw_(of('target'), gradients, of('firstMoment'), of('secondMoment'), [], of('step'), options);
    // 16-bit parameters are rounded from their copies.
    const narrow = slots.filter(({ parameter, target }) => parameter !== target);
    const rounded = narrow.map(({ parameter, target }) => target.toCopy({ dtype: parameter.dtype }));
    const changed = narrow.map(({ parameter }, i) => rounded[i].ne(parameter).sum());
    if (narrow.length > 0)
        foreachCopy_(narrow.map(({ parameter }) => parameter), rounded);
    return changed;
}
/** A norm of 16-bit gradients needs more digits than they have. */
function normDtype(slots) {
    return slots.some(({ parameter, target }) => parameter !== target) ? 'float32' : undefined;
}
//# sourceMappingURL=optim.js.map