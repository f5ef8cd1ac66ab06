/**
 * Programs: a function of tensors and numbers recorded once as a list of operator calls, run many times natively in one
 * crossing. `run` computes on a thread of its own, so the event loop stays free however long it takes.
 *
 * While recording, tensors have no values and no shapes: `size(dim)` gives a number of the program, JavaScript control flow
 * happens once, at recording time. Tensors of the outside that the function uses are captured, not copied: a program sees a
 * weight as it is when it runs.
 */
import { decode, mailbox, Ref, recordInto, Sym, writeValues } from './call.js'
import { ArgumentError, fromNative } from './errors.js'
import { native } from './native.js'
import { Tensor } from './tensor.js'

export type InputKind = 'tensor' | 'number'

/** What the recorded function gets for its inputs. */
export type Recorded<K extends readonly InputKind[]> = {
  [I in keyof K]: K[I] extends 'tensor' ? Tensor : K[I] extends 'number' ? Sym : Tensor | Sym
}
/** What `run` takes for them. */
type Inputs<K extends readonly InputKind[]> = {
  [I in keyof K]: K[I] extends 'tensor' ? Tensor : K[I] extends 'number' ? number : Tensor | number
}
/** A function records one tensor, several, or none (it then works by in-place operators and `backward`). */
type Outputs = Tensor | readonly Tensor[] | undefined
/** What comes back of a run: as many tensors as the function returned. */
type Results<R> = R extends Tensor ? Tensor : R extends readonly Tensor[] ? { [I in keyof R]: Tensor } : undefined

/** Programs under way on the thread of their own. */
let started = 0
/** When the event loop last had its turn, as far as short programs know. */
let lastTurn = performance.now()

const finalized = new FinalizationRegistry<number>(program => {
  native.releaseProgram(program)
})

/** Frees a program when `owner` is collected. @internal */
export function releaseWith(owner: object, program: number): void {
  finalized.register(owner, program)
}

/** The symbolic inputs of a recording whose first slot is `first`. @internal */
export function symbols(kinds: readonly InputKind[], first: number): (Tensor | Sym)[] {
  return kinds.map((kind, i) => (kind === 'tensor' ? new Tensor(first - i) : new Sym(first - i)))
}

function flat(outputs: unknown): Ref[] {
  const list = outputs === undefined ? [] : Array.isArray(outputs) ? outputs : [outputs]
  for (const output of list) {
    if (!(output instanceof Ref))
      throw new ArgumentError('a recorded function returns tensors: one, an array of them, or nothing')
  }
  return list as Ref[]
}

/**
 * Records `fn`.
 *
 * ```ts
 * const step = record(['tensor', 'number'], (x, n) => x.matmul(w).mul(n).silu())
 * const y = await step.run(x, 3)
 * ```
 */
// biome-ignore lint/suspicious/noConfusingVoidType: a function that returns nothing has this type.
export function record<const K extends readonly InputKind[], R extends Outputs | void>(
  kinds: K,
  fn: (...inputs: Recorded<K>) => R,
): Program<K, R> {
  const { program, result } = recordInto(kinds.length, first => {
    const outputs = fn(...(symbols(kinds, first) as Recorded<K>))
    const refs = flat(outputs)
    return { outputs: refs, result: { single: outputs instanceof Tensor, count: refs.length } }
  })
  return new Program<K, R>(program, kinds, result)
}

export class Program<K extends readonly InputKind[] = readonly InputKind[], R = unknown> {
  private captured: CapturedProgram<R>[] = []

  constructor(
    /** @internal */
    public ref: number,
    readonly kinds: K,
    private readonly shape: { single: boolean; count: number },
  ) {
    finalized.register(this, ref, this)
  }

  private write(inputs: readonly unknown[]): void {
    if (this.ref === 0) throw new ArgumentError('this program was disposed')
    if (inputs.length !== this.kinds.length)
      throw new ArgumentError(`the program takes ${this.kinds.length} inputs, got ${inputs.length}`)
    for (const [i, kind] of this.kinds.entries()) {
      const value = inputs[i]
      const right = kind === 'tensor' ? value instanceof Tensor : typeof value === 'number'
      if (!right)
        throw new ArgumentError(`input ${i} of the program is a ${kind}, got ${value === null ? 'null' : typeof value}`)
    }
    writeValues(inputs)
  }

  private results(values: unknown[]): Results<R> {
    return (this.shape.count === 0 ? undefined : this.shape.single ? values[0] : values) as Results<R>
  }

  /**
   * Runs on a thread of its own; programs of one JavaScript thread run one after another, in the order of the calls. The
   * inputs may be disposed as soon as this returns. The caller owns the results.
   */
  async run(...inputs: Inputs<K>): Promise<Results<R>> {
    this.write(inputs)
    started++
    try {
      const answer = await native.runProgram(this.ref, inputs.length)
      return this.results(decode(answer, 2, answer[1]!))
    } catch (thrown) {
      throw fromNative(thrown)
    } finally {
      started--
    }
  }

  /**
   * As `run`; a program known to be short runs at once, unless it would overtake one that was started before it. A loop of
   * these still lets the event loop turn every few milliseconds.
   * @internal
   */
  async runShort(...inputs: Inputs<K>): Promise<Results<R>> {
    if (started > 0) return this.run(...inputs)
    const results = this.call(...inputs)
    if (performance.now() - lastTurn > 4) {
      await new Promise(resolve => setImmediate(resolve))
      lastTurn = performance.now()
    }
    return results
  }

  /** Runs on this thread, now: for programs shorter than handing them over. */
  call(...inputs: Inputs<K>): Results<R> {
    this.write(inputs)
    try {
      const ref = native.callProgram(this.ref, inputs.length)
      return this.results(ref > 0 ? [Tensor.adopt(ref)] : decode(mailbox(), 0, -ref))
    } catch (thrown) {
      throw fromNative(thrown)
    }
  }

  /**
   * Captures a run as a CUDA graph. The graph reads the memory of these inputs and writes that of `outputs`, at every
   * `replay()`: copy new values in before, copy results out after. Numbers are fixed at their value here. `beside`: a graph
   * that never runs at the same time; what either needs only while it runs then lies in the same memory.
   *
   * A program that runs `backward` can be captured only while no tensor of an earlier pass over the same leaves is alive:
   * it would tie their gradients to the stream of that pass.
   */
  async capture(
    inputs: Inputs<K>,
    { warmups = 3, beside }: { warmups?: number; beside?: CapturedProgram | undefined } = {},
  ): Promise<CapturedProgram<R>> {
    if (beside?.ref === 0) throw new ArgumentError('the graph to capture beside was disposed')
    this.write(inputs)
    try {
      const answer = await native.captureProgram(this.ref, inputs.length, warmups, beside?.ref ?? 0)
      const captured = new CapturedProgram<R>(answer[0]!, this.results(decode(answer, 2, answer[1]!)))
      this.captured.push(captured)
      return captured
    } catch (thrown) {
      throw fromNative(thrown)
    }
  }

  dispose(): void {
    if (this.ref === 0) return
    native.releaseProgram(this.ref)
    finalized.unregister(this)
    this.ref = 0
    for (const captured of this.captured) captured.dispose()
  }

  [Symbol.dispose](): void {
    this.dispose()
  }
}

export class CapturedProgram<R = unknown> {
  constructor(
    /** @internal */
    public ref: number,
    /** Rewritten by every replay. */
    readonly outputs: Results<R>,
  ) {}

  /** Starts the graph on the current stream and returns at once. */
  replay(): void {
    try {
      native.replay(this.ref)
    } catch (thrown) {
      throw fromNative(thrown)
    }
  }

  dispose(): void {
    if (this.ref === 0) return
    native.releaseGraph(this.ref)
    this.ref = 0
    const outputs = this.outputs as Tensor | Tensor[] | undefined
    for (const output of outputs === undefined ? [] : Array.isArray(outputs) ? outputs : [outputs]) output.dispose()
  }
}
