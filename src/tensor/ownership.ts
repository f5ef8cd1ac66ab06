/** Which scope new tensors belong to, and how they are freed. */
import { native } from './native.js'

export type Owned = { ref: number }

/** The tensors of the innermost open scope; undefined where there is none. Only `scope.ts` changes it. */
export const scopes: { current: Owned[] | undefined } = { current: undefined }

/** By now the ref may be stale, as of a tensor that was disposed: the bridge recognises it. */
const collected = new FinalizationRegistry<number>(ref => {
  native.release(ref)
})

/** Gives a new tensor its owner. */
export function adopt<T extends Owned>(tensor: T): T {
  if (scopes.current) scopes.current.push(tensor)
  else handToCollector(tensor)
  return tensor
}

export function handToCollector(tensor: Owned): void {
  native.leaveToCollector(tensor.ref)
  collected.register(tensor, tensor.ref)
}

/** Frees a tensor now. @internal */
export function release(tensor: Owned): void {
  if (tensor.ref <= 0) return
  native.release(tensor.ref)
  tensor.ref = 0
}
