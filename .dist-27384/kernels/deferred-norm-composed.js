/** The float32 stream and its norms of operators alone: what the CUDA kernels are measured against. */
import { cat, linear } from '../tensor/index.js';
import { rounding } from './rounding.js';
export function deferredNormComposed(dtype) {
    const { widen, narrow } = rounding(dtype);
    const scaled = (values, rstd, weight) => linear(widen(values), widen(weight)).mul_(rstd.unsqueeze(1));
    const normOf = (sum, weight, hidden, eps) => {
        const rstd = sum.square().sum([-1]).div_(hidden).add_(eps).rsqrt();
        return { values: narrow(sum.mul(widen(weight))), rstd, sum };
    };
    return {
        norm: ({ added, stream, weight, hidden, eps }) => normOf(added ? stream.add(added.squeeze(0)) : stream, weight, hidden, eps),
        join: (x, { weight, bias, stream, norm, hidden, eps }) => {
            const product = linear(widen(x), widen(weight), bias && widen(bias));
            return normOf(product.add_(stream), norm, hidden, eps);
        },
        normBackward: given => {
            const [gradient, weight] = [widen(given.gradient), widen(given.weight)];
            const { sum, sumGradient, hidden } = given;
            const product = gradient.mul(sum);
            const rstd = given.rstd.unsqueeze(1);
            const pull = product.mul(weight).sum([-1], { keepdim: true }).mul_(rstd).mul_(rstd).div_(hidden);
            const stream = gradient.mul(weight).sub_(sum.mul(pull));
            if (sumGradient)
                stream.add_(sumGradient);
            return { stream, rounded: narrow(stream), weight: narrow(product.sum([0])) };
        },
        linear: ({ values, rstd }, { weight, bias }) => {
            const out = scaled(values, rstd, weight);
            return narrow(bias ? out.add_(widen(bias)) : out);
        },
        gated: ({ values, rstd }, { weight, keep }) => {
            const gateUp = scaled(values, rstd, weight);
            const [gate, up] = gateUp.chunk(2, -1);
            return { out: narrow(gate.silu().mul_(up)), gateUp: keep ? narrow(gateUp) : null };
        },
        gatedBackward: (gradient, gateUp, rstd) => {
            const [gate, up] = widen(gateUp).chunk(2, -1);
            const arriving = widen(gradient).mul(rstd.unsqueeze(1));
            const sigmoid = gate.sigmoid();
            const slope = sigmoid.mul(gate.mul(sigmoid.neg().add_(1)).add_(1));
            return narrow(cat([arriving.mul(up).mul_(slope), arriving.mul(gate).mul_(sigmoid)], -1));
        },
        scaleRows: (x, rstd) => narrow(widen(x).mul(rstd.unsqueeze(1))),
    };
}
//# sourceMappingURL=deferred-norm-composed.js.map