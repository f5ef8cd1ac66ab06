import { type Owned } from './ownership.js';
/**
 * Runs `fn` and frees every tensor made in it, except those in what it returns: these belong to the surrounding scope.
 *
 * ```ts
 * const norm = scope(() => x.mul(x).sum().sqrt())
 * ```
 */
export declare function scope<T>(fn: () => T): T;
/**
 * For functions that await: `own(value)` marks what is freed when the promise settles, unless it is part of the result.
 * Tensors made between awaits belong to nobody but the caller, as outside any scope.
 *
 * ```ts
 * const loss = await scopeAsync(async own => {
 *   const [logits] = own(await program.run(x))
 *   return logits.mean()
 * })
 * ```
 */
export declare function scopeAsync<T>(fn: (own: <V>(value: V) => V) => Promise<T>): Promise<T>;
/** Takes a tensor out of the current scope: it outlives it and is the caller's to dispose. */
export declare function keep<T extends Owned>(tensor: T): T;
/** Runs `fn` with no current scope: what it makes is the caller's. @internal */
export declare function unscoped<T>(fn: () => T): T;
