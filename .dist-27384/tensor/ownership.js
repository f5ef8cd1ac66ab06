/** Which scope new tensors belong to, and how they are freed. */
import { native } from './native.js';
/** The tensors of the innermost open scope; undefined where there is none. Only `scope.ts` changes it. */
export const scopes = { current: undefined };
/** By now the ref may be stale, as of a tensor that was disposed: the bridge recognises it. */
const collected = new FinalizationRegistry(ref => {
    native.release(ref);
});
/** Gives a new tensor its owner. */
export function adopt(tensor) {
    if (scopes.current)
        scopes.current.push(tensor);
    else
        handToCollector(tensor);
    return tensor;
}
export function handToCollector(tensor) {
    native.leaveToCollector(tensor.ref);
    collected.register(tensor, tensor.ref);
}
/** Frees a tensor now. @internal */
export function release(tensor) {
    if (tensor.ref <= 0)
        return;
    native.release(tensor.ref);
    tensor.ref = 0;
}
//# sourceMappingURL=ownership.js.map