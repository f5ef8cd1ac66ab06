/** Gradient mode, recomputation and hand-written gradients. */
import { Code, isRecording, type NumberLike, type Ref, recordInto, Sym, special } from './call.js'
import { ArgumentError } from './errors.js'
import { native } from './native.js'
import { type InputKind, type Recorded, releaseWith, symbols } from './program.js'
import { Tensor } from './tensor.js'

function withGradMode<T>(enabled: boolean, fn: () => T): T {
  if (isRecording()) {
    // The mode before is a value of the program, known when it runs.
    const before = new Sym((special(Code.GradMode, [enabled], 1)[0] as Ref).ref)
    try {
      return fn()
    } finally {
      special(Code.GradMode, [before], 1)
    }
  }
  const before = native.gradEnabled(enabled) !== 0
  try {
    const result = fn()
    if (result instanceof Promise)
      throw new TypeError('the gradient mode ends when the function returns, before a promise settles')
    return result
  } finally {
    native.gradEnabled(before)
  }
}

/** Runs `fn` without recording gradients. */
export function noGrad<T>(fn: () => T): T {
  return withGradMode(false, fn)
}

/** Runs `fn` with gradients recorded, inside `noGrad`. */
export function enableGrad<T>(fn: () => T): T {
  return withGradMode(true, fn)
}

export function isGradEnabled(): boolean {
  return native.gradEnabled() !== 0
}

/** A tensor or a number, in eager code and while recording. */
type Given<K extends readonly InputKind[]> = {
  [I in keyof K]: K[I] extends 'tensor' ? Tensor : K[I] extends 'number' ? NumberLike : Tensor | NumberLike
}

/**
 * A part of a model that keeps only its inputs and is computed again when its gradient arrives, with the same random
 * numbers. Recorded when it is first called.
 *
 * ```ts
 * const block = checkpoint(['tensor'], x => x.matmul(up).silu().matmul(down))
 * const y = block(x)
 * ```
 */
export function checkpoint<const K extends readonly InputKind[], R extends Tensor | readonly Tensor[]>(
  kinds: K,
  fn: (...inputs: Recorded<K>) => R,
): (...inputs: Given<K>) => R {
  let recorded: { program: number; single: boolean; count: number } | undefined
  const call = (...inputs: Given<K>): R => {
    if (!recorded) {
      recorded = recordPart(kinds, fn)
      releaseWith(call, recorded.program)
    }
    checkInputs(kinds, inputs)
    const results = special(Code.Checkpoint, inputs, recorded.count, recorded.program) as Tensor[]
    return (recorded.single ? results[0] : results) as R
  }
  return call
}

function recordPart<K extends readonly InputKind[]>(
  kinds: K,
  fn: (...inputs: Recorded<K>) => Tensor | readonly Tensor[],
) {
  const { program, result } = recordInto(kinds.length, first => {
    const outputs = fn(...(symbols(kinds, first) as Recorded<K>))
    const list: readonly Tensor[] = outputs instanceof Tensor ? [outputs] : outputs
    return { outputs: list, result: { single: outputs instanceof Tensor, count: list.length } }
  })
  return { program, ...result }
}

function checkInputs(kinds: readonly InputKind[], inputs: readonly unknown[]): void {
  if (inputs.length !== kinds.length)
    throw new ArgumentError(`the function takes ${kinds.length} inputs, got ${inputs.length}`)
  for (const [i, kind] of kinds.entries()) {
    const value = inputs[i]
    const right = kind === 'tensor' ? value instanceof Tensor : typeof value === 'number' || value instanceof Sym
    if (!right)
      throw new ArgumentError(`input ${i} of the function is a ${kind}, got ${value === null ? 'null' : typeof value}`)
  }
}

/** What a hand-written forward returns: the function's results, and what its backward will need. */
interface Forward<R extends Tensor | readonly Tensor[]> {
  outputs: R
  saved: readonly Tensor[]
}

/**
 * A function with a hand-written backward. Both are recorded when it is first called, so neither may look at values.
 * `backward` gets what `forward` saved, a gradient for each output and the number inputs, and returns a gradient for each
 * tensor input (null: none).
 *
 * ```ts
 * const square = customFunction({
 *   inputs: ['tensor'],
 *   forward: x => ({ outputs: x.mul(x), saved: [x] }),
 *   backward: ({ saved: [x], gradients: [g] }) => [x!.mul(g!).mul(2)],
 * })
 * ```
 */
export function customFunction<const K extends readonly InputKind[], R extends Tensor | readonly Tensor[]>(definition: {
  inputs: K
  forward: (...inputs: Recorded<K>) => Forward<R>
  backward: (given: { saved: Tensor[]; gradients: Tensor[]; numbers: Sym[] }) => readonly (Tensor | null)[]
}): (...inputs: Given<K>) => R {
  const { inputs: kinds, forward, backward } = definition
  const numbers = kinds.filter(kind => kind === 'number').length
  const tensors = kinds.length - numbers
  let recorded: { forward: number; backward: number; single: boolean; count: number } | undefined

  const recordBoth = () => {
    const { program, result } = recordInto(kinds.length, first => {
      const { outputs, saved } = forward(...(symbols(kinds, first) as Recorded<K>))
      const list: readonly Tensor[] = outputs instanceof Tensor ? [outputs] : outputs
      return {
        outputs: [...list, ...saved],
        result: { single: outputs instanceof Tensor, count: list.length, saved: saved.length },
      }
    })
    const gradientInputs: InputKind[] = [
      ...Array(result.saved + result.count).fill('tensor'),
      ...Array(numbers).fill('number'),
    ]
    const reverse = recordInto(gradientInputs.length, first => {
      const all = symbols(gradientInputs, first)
      const gradients = backward({
        saved: all.slice(0, result.saved) as Tensor[],
        gradients: all.slice(result.saved, result.saved + result.count) as Tensor[],
        numbers: all.slice(result.saved + result.count) as Sym[],
      })
      if (gradients.length !== tensors)
        throw new ArgumentError(
          `backward returns a gradient for each of the ${tensors} tensor inputs, got ${gradients.length}`,
        )
      return { outputs: gradients as readonly Ref[], result: undefined }
    })
    return { forward: program, backward: reverse.program, single: result.single, count: result.count }
  }

  const call = (...inputs: Given<K>): R => {
    if (!recorded) {
      recorded = recordBoth()
      releaseWith(call, recorded.forward)
      releaseWith(call, recorded.backward)
    }
    checkInputs(kinds, inputs)
    const results = special(
      Code.Custom,
      [recorded.count, ...inputs],
      recorded.count,
      recorded.forward,
      recorded.backward,
    ) as Tensor[]
    return (recorded.single ? results[0] : results) as R
  }
  return call
}
