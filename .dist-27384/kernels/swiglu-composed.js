/** SwiGLU of operators alone: what the CPU runs, and what the CUDA kernels are measured against. */
import { customFunction, siluBackwardOut } from '../tensor/index.js';
import { rounding } from './rounding.js';
/** The backward computes silu(gate) again rather than keeping it: a third less memory held between the passes. */
export function swigluComposed(dtype) {
    const { widen, narrow } = rounding(dtype);
    const halves = (gateUp) => {
        const [gate, up] = widen(gateUp).chunk(2, -1);
        return [gate, up];
    };
    return {
        swiglu: customFunction({
            inputs: ['tensor'],
            forward: gateUp => {
                const [gate, up] = halves(gateUp);
                return { outputs: narrow(gate.silu().mul_(up)), saved: [gateUp] };
            },
            backward: ({ saved: [gateUp], gradients: [gradient] }) => {
                const [gate, up] = halves(gateUp);
                const arriving = widen(gradient);
                // Written into the halves of the result where they belong: no copy, and no memory but the result's.
                const found = widen(gateUp.emptyLike());
                const [gates, ups] = found.chunk(2, -1);
                arriving.mulOut(up, { out: gates });
                siluBackwardOut(gates, gate, { gradInput: gates });
                gate.siluOut({ out: ups });
                ups.mul_(arriving);
                return [narrow(found)];
            },
        }),
    };
}
//# sourceMappingURL=swiglu-composed.js.map