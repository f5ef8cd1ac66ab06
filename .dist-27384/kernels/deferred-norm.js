/**
 * The parts of a decoder over a stream that is kept in float32, with norms whose factor is left to the products behind them:
 * differentiable, whatever computes them. 16-bit numbers are then only what a product reads and what attention does; where sums
 * are rounded is the same for a training pass over whole sequences and for a step over next tokens, so their results are
 * as close as 16-bit products are.
 */
import { customFunction } from '../tensor/index.js';
import { memoized } from './memoized.js';
/** Only products with weights read a norm's `values`, and all of them multiply by its factor: its gradient has been through that. */
export function deferredOps(kernels) {
    const { scaleRows } = kernels;
    const weightGradient = (gradient, x, trained) => trained ? gradient.t().mm(x) : null;
    const norm = memoized((hidden) => customFunction({
        inputs: ['tensor', 'tensor', 'number'],
        forward: (stream, weight, eps) => {
            const { values, rstd } = kernels.norm({ added: null, stream, weight, hidden, eps });
            return { outputs: [values, rstd], saved: [stream, weight, rstd] };
        },
        backward: ({ saved: [sum, weight, rstd], gradients: [gradient] }) => {
            const given = { gradient: gradient, sum: sum, weight: weight, rstd: rstd, sumGradient: null, hidden };
            const found = kernels.normBackward(given);
            return [found.stream, found.weight];
        },
    }));
    const add = memoized((hidden) => customFunction({
        inputs: ['tensor', 'tensor', 'tensor', 'number'],
        forward: (x, stream, weight, eps) => {
            const added = x.toCopy({ dtype: 'float32' }).unsqueeze(0);
            const { values, rstd, sum } = kernels.norm({ added, stream, weight, hidden, eps });
            return { outputs: [values, rstd, sum], saved: [sum, weight, rstd] };
        },
        backward: ({ saved: [sum, weight, rstd], gradients: [gradient, , sumGradient] }) => {
            const given = { sum: sum, weight: weight, rstd: rstd, hidden };
            const found = kernels.normBackward({ ...given, gradient: gradient, sumGradient: sumGradient });
            return [found.rounded, found.stream, found.weight];
        },
    }));
    const joinOf = memoized(({ hidden, inner, parts, trained }) => {
        const forward = (x, weight, bias, stream, norm, eps) => {
            const given = { weight, bias, parts, stream, norm, hidden, inner, eps };
            const { values, rstd, sum } = kernels.join(x, given);
            return { outputs: [values, rstd, sum], saved: [x, weight, sum, norm, rstd] };
        };
        const backward = (saved, gradients) => {
            const [x, weight, sum, norm, rstd] = saved;
            const [gradient, , sumGradient] = gradients;
            const found = kernels.normBackward({ gradient, sum, weight: norm, rstd, sumGradient, hidden });
            const { rounded } = found;
            return { ...found, x: rounded.mm(weight), product: weightGradient(rounded, x, trained), rounded };
        };
        return {
            plain: customFunction({
                inputs: ['tensor', 'tensor', 'tensor', 'tensor', 'number'],
                forward: (x, weight, stream, norm, eps) => forward(x, weight, null, stream, norm, eps),
                backward: ({ saved, gradients }) => {
                    const found = backward(saved, gradients);
                    return [found.x, found.product, found.stream, found.weight];
                },
            }),
            biased: customFunction({
                inputs: ['tensor', 'tensor', 'tensor', 'tensor', 'tensor', 'number'],
                forward: (x, weight, bias, stream, norm, eps) => forward(x, weight, bias, stream, norm, eps),
                backward: ({ saved, gradients }) => {
                    const found = backward(saved, gradients);
                    return [found.x, found.product, trained ? found.rounded.sum([0]) : null, found.stream, found.weight];
                },
            }),
        };
    });
    const linearOf = memoized(({ features, inner, trained }) => {
        const forward = (values, rstd, weight, bias) => ({
            outputs: kernels.linear({ values, rstd }, { weight, bias, features, inner }),
            saved: [values, rstd, weight],
        });
        const backward = ([values, rstd, weight], gradient) => {
            const scaled = scaleRows(gradient.contiguous(), rstd, features);
            return { values: scaled.mm(weight), weight: weightGradient(scaled, values, trained) };
        };
        return {
            plain: customFunction({
                inputs: ['tensor', 'tensor', 'tensor'],
                forward: (values, rstd, weight) => forward(values, rstd, weight, null),
                backward: ({ saved, gradients: [gradient] }) => {
                    const found = backward(saved, gradient);
                    return [found.values, null, found.weight];
                },
            }),
            biased: customFunction({
                inputs: ['tensor', 'tensor', 'tensor', 'tensor'],
                forward,
                backward: ({ saved, gradients: [gradient] }) => {
                    const found = backward(saved, gradient);
                    return [found.values, null, found.weight, trained ? gradient.sum([0]) : null];
                },
            }),
        };
    });
    const gatedOf = memoized(({ features, inner, trained }) => customFunction({
        inputs: ['tensor', 'tensor', 'tensor'],
        forward: (values, rstd, weight) => {
            const { out, gateUp } = kernels.gated({ values, rstd }, { weight, features, inner, keep: true });
            return { outputs: out, saved: [values, rstd, weight, gateUp] };
        },
        backward: ({ saved: [values, rstd, weight, gateUp], gradients: [gradient] }) => {
            const scaled = kernels.gatedBackward(gradient, gateUp, rstd);
            return [scaled.mm(weight), null, weightGradient(scaled, values, trained)];
        },
    }));
    const rowsOf = memoized((width) => customFunction({
        inputs: ['tensor', 'tensor'],
        forward: (values, rstd) => ({ outputs: scaleRows(values, rstd, width), saved: [rstd] }),
        backward: ({ saved: [rstd], gradients: [gradient] }) => [scaleRows(gradient.contiguous(), rstd, width), null],
    }));
    const named = ([values, rstd, residual]) => ({
        residual,
        normed: { values, rstd },
    });
    return {
        norm: (stream, weight, eps) => {
            const [values, rstd] = norm(weight.shape[0])(stream, weight, eps);
            return { values, rstd };
        },
        add: (x, given, eps) => named(add(given.norm.shape[0])(x, given.residual, given.norm, eps)),
        join: (x, { weight, bias, residual, norm, parts = 1 }, eps) => {
            const [hidden, inner] = weight.shape;
            const { plain, biased } = joinOf({ hidden, inner, parts, trained: weight.requiresGrad });
            return named(bias ? biased(x, weight, bias, residual, norm, eps) : plain(x, weight, residual, norm, eps));
        },
        linear: ({ values, rstd }, weight, bias) => {
            const [features, inner] = weight.shape;
            const { plain, biased } = linearOf({ features, inner, trained: weight.requiresGrad });
            return bias ? biased(values, rstd, weight, bias) : plain(values, rstd, weight);
        },
        gated: (x, weight, gradients) => {
            const [both, inner] = weight.shape;
            const features = both / 2;
            if (gradients === 'none')
                return kernels.gated(x, { weight, features, inner, keep: false }).out;
            return gatedOf({ features, inner, trained: weight.requiresGrad })(x.values, x.rstd, weight);
        },
        rows: ({ values, rstd }, width) => rowsOf(width)(values, rstd),
    };
}
//# sourceMappingURL=deferred-norm.js.map