/**
 * Who frees a tensor. The garbage collector cannot see native memory, so ownership is explicit:
 *
 * - inside `scope(fn)` every tensor made belongs to the scope and is freed when `fn` returns, except what it returns;
 * - outside any scope a tensor is the caller's: `dispose()` it, or let the garbage collector find it, which is told how
 *   many bytes hang on it;
 * - across an `await` there is no current scope: `scopeAsync` hands its function an `own` to say what to free at the end.
 */
import { mailbox, Ref } from './call.js'
import { native } from './native.js'
import { handToCollector, type Owned, scopes } from './ownership.js'

interface Disposable {
  dispose(): void
}

/** Every tensor inside a result: a tensor, an array or a plain object of them, at any depth. */
function tensorsIn(value: unknown, found: Set<unknown>, seen = new Set<unknown>()): Set<unknown> {
  if (typeof value !== 'object' || value === null || seen.has(value)) return found
  seen.add(value)
  if (value instanceof Ref) found.add(value)
  else if (Array.isArray(value)) for (const item of value) tensorsIn(item, found, seen)
  else if (Object.getPrototypeOf(value) === Object.prototype)
    for (const item of Object.values(value)) tensorsIn(item, found, seen)
  return found
}

function leave(owned: Owned[], outer: Owned[] | undefined, result: unknown): void {
  if (owned.length === 0) return
  const kept = tensorsIn(result, new Set())
  // All in one call, by the mailbox: no operator is between its arguments and its results here.
  const box = mailbox(owned.length)
  let count = 0
  for (const tensor of owned) {
    if (tensor.ref <= 0) continue
    if (!kept.has(tensor)) {
      box[count++] = tensor.ref
      tensor.ref = 0
    } else if (outer) outer.push(tensor)
    else handToCollector(tensor)
  }
  if (count > 0) native.releaseMany(count)
}

/**
 * Runs `fn` and frees every tensor made in it, except those in what it returns: these belong to the surrounding scope.
 *
 * ```ts
 * const norm = scope(() => x.mul(x).sum().sqrt())
 * ```
 */
export function scope<T>(fn: () => T): T {
  const outer = scopes.current
  const owned: Owned[] = []
  scopes.current = owned
  let result: T | undefined
  try {
    result = fn()
    if (result instanceof Promise) {
      throw new TypeError('scope() ends when its function returns, before a promise settles; use scopeAsync()')
    }
    return result
  } finally {
    scopes.current = outer
    leave(owned, outer, result)
  }
}

/**
 * For async functions: `own(value)` marks tensors to free when the promise settles, unless they are part of the result. Other
 * tensors made between awaits belong to the caller, as outside any scope.
 *
 * ```ts
 * const loss = await scopeAsync(async own => {
 *   const [logits] = own(await program.run(x))
 *   return logits.mean()
 * })
 * ```
 */
export async function scopeAsync<T>(fn: (own: <V>(value: V) => V) => Promise<T>): Promise<T> {
  const owned = new Set<unknown>()
  let result: T | undefined
  try {
    result = await fn(value => {
      tensorsIn(value, owned)
      return value
    })
    return result
  } finally {
    const kept = tensorsIn(result, new Set())
    for (const value of owned) if (!kept.has(value)) (value as Disposable).dispose()
  }
}

/** Takes a tensor out of the current scope: it outlives it and is the caller's to dispose. */
export function keep<T extends Owned>(tensor: T): T {
  const { current } = scopes
  if (!current) return tensor
  const at = current.lastIndexOf(tensor)
  if (at >= 0) {
    current.splice(at, 1)
    handToCollector(tensor)
  }
  return tensor
}

/** Runs `fn` with no current scope: what it makes is the caller's. @internal */
export function unscoped<T>(fn: () => T): T {
  const outer = scopes.current
  scopes.current = undefined
  try {
    return fn()
  } finally {
    scopes.current = outer
  }
}
