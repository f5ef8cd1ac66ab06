/** RMSNorm of operators alone: what the CPU runs, and what the CUDA kernels are measured against. */
import { customFunction } from '../tensor/index.js';
import { rounding } from './rounding.js';
/**
 * The backward is written by hand because autograd of the composition keeps and reads twice as much: here a row's scale is
 * saved instead of the normed row, and the sums over a row and over all rows share one product.
 */
export function rmsNormComposed(dtype) {
    const { widen, narrow } = rounding(dtype);
    const norm = (sum, weight, eps) => {
        const wide = widen(sum);
        const squares = wide.norm(2, -1, { keepdim: true }).square();
        const rstd = squares.div(sum.size(-1)).add(eps).rsqrt();
        return { normed: narrow(wide.mul(rstd).mul_(widen(weight))), rstd };
    };
    const normBackward = (saved, gradient, sumGradient) => {
        const { rstd } = saved;
        const [sum, weight, arriving] = [widen(saved.sum), widen(saved.weight), widen(gradient)];
        const scaled = arriving.mul(rstd);
        const product = scaled.mul(sum);
        const hidden = saved.sum.size(-1);
        const pull = product.matmul(weight).unsqueeze(-1).mul(rstd).mul_(rstd).div_(hidden);
        const x = scaled.mul_(weight).addcmul_(sum, pull, { value: -1 });
        if (sumGradient)
            x.add_(widen(sumGradient));
        return { x: narrow(x), weight: narrow(product.flatten(0, -2).sum(0)) };
    };
    return {
        rmsNorm: customFunction({
            inputs: ['tensor', 'tensor', 'number'],
            forward: (x, weight, eps) => {
                const { normed, rstd } = norm(x, weight, eps);
                return { outputs: normed, saved: [x, weight, rstd] };
            },
            backward: ({ saved, gradients: [gradient] }) => {
                const [sum, weight, rstd] = saved;
                const found = normBackward({ sum, weight, rstd }, gradient, undefined);
                return [found.x, found.weight];
            },
        }),
        addRmsNorm: customFunction({
            inputs: ['tensor', 'tensor', 'tensor', 'number'],
            forward: (x, residual, weight, eps) => {
                const sum = x.add(residual);
                const { normed, rstd } = norm(sum, weight, eps);
                return { outputs: [normed, sum], saved: [sum, weight, rstd] };
            },
            backward: ({ saved, gradients: [gradient, sumGradient] }) => {
                const [sum, weight, rstd] = saved;
                const found = normBackward({ sum, weight, rstd }, gradient, sumGradient);
                return [found.x, found.x, found.weight];
            },
        }),
    };
}
//# sourceMappingURL=rms-norm-composed.js.map