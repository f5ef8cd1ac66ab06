/** Rotary positions of operators alone: what the CPU runs, and what the CUDA kernels are measured against. */
import { customFunction } from '../tensor/index.js';
import { rounding } from './rounding.js';
export function ropeComposed(dtype, { rotated, rest, headDim }) {
    const { widen, narrow } = rounding(dtype);
    const half = headDim / 2;
    const [rotatedWidth, restWidth] = [rotated * headDim, rest * headDim];
    /** Writes `from`, rotated, into `to`: both `[rows, heads, headDim]`. */
    const turn = (from, to, cos, sin, direction) => {
        const [a, b] = [from.narrow(2, 0, half), from.narrow(2, half, half)];
        const [first, second] = [to.narrow(2, 0, half), to.narrow(2, half, half)];
        a.mulOut(cos, { out: first });
        first.addcmul_(b, sin, { value: -direction });
        b.mulOut(cos, { out: second });
        second.addcmul_(a, sin, { value: direction });
    };
    return customFunction({
        inputs: ['tensor', 'tensor', 'tensor'],
        forward: (whole, cos, sin) => {
            const input = widen(whole.reshape([cos.size(0), rotatedWidth + restWidth]));
            const first = input.newEmpty([cos.size(0), rotated, headDim]);
            const [c, s] = [cos.unsqueeze(1), sin.unsqueeze(1)];
            turn(input.narrow(1, 0, rotatedWidth).view([cos.size(0), rotated, headDim]), first, c, s, 1);
            const remaining = input
                .narrow(1, rotatedWidth, restWidth)
                .contiguous()
                .view([cos.size(0), rest, headDim]);
            return { outputs: [narrow(first), narrow(remaining)], saved: [cos, sin] };
        },
        backward: ({ saved: [cos, sin], gradients: [first, remaining] }) => {
            const arriving = widen(first);
            const found = arriving.newEmpty([cos.size(0), rotatedWidth + restWidth]);
            const target = found.narrow(1, 0, rotatedWidth).view([cos.size(0), rotated, headDim]);
            turn(arriving, target, cos.unsqueeze(1), sin.unsqueeze(1), -1);
            found.narrow(1, rotatedWidth, restWidth).copy_(remaining.reshape([cos.size(0), restWidth]));
            return [narrow(found), null, null];
        },
    });
}
//# sourceMappingURL=rope-composed.js.map