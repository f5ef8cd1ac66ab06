/** Checks of the inputs of every loss. */

/** What errors call a sample: its own name, or else its place among those of the call. */
export interface Named {
  readonly name?: string | undefined
}

const called = (sample: Named, place: number) => `sample ${sample.name ?? place}`

/**
 * Every array of a sample has one finite number per token, as many as the first field has; a field that is absent is missing,
 * unless it is one of `optional`. The first thing that is wrong is a `RangeError` that names the sample, the field and the token.
 */
export function checkTokenInputs<S extends Named>(
  samples: readonly S[],
  { needed, optional = [] }: { needed: readonly [keyof S & string, ...string[]]; optional?: readonly string[] },
): void {
  const fields = [...new Set([...needed, ...optional])]
  for (const [place, sample] of samples.entries()) {
    const arrays = sample as unknown as Readonly<Record<string, ArrayLike<number> | undefined>>
    const length = arrays[needed[0]]?.length
    if (length === 0) throw new RangeError(`${called(sample, place)} has no tokens`)
    for (const field of needed)
      if (!arrays[field]) throw new RangeError(`${called(sample, place)}: ${field}: missing; the loss needs them`)
    for (const field of fields) {
      const values = arrays[field]
      if (!values) continue
      if (values.length !== length)
        throw new RangeError(
          `${called(sample, place)}: ${field}: expected ${length} numbers, one per token, got ${values.length}`,
        )
      if (allFinite(values)) continue
      const t = Array.from(values).findIndex(value => !Number.isFinite(value))
      throw new RangeError(
        `${called(sample, place)}: ${field}: expected finite numbers, got ${values[t]} at token ${t}`,
      )
    }
  }
}

/** 0 * NaN is NaN: one sum replaces a check per number. */
function allFinite(values: ArrayLike<number>): boolean {
  let zero = 0
  for (let t = 0; t < values.length; t++) zero += values[t]! * 0
  return zero === 0
}

/** The numbers of samples that have one of each instead of one per token. */
export function checkNumberInputs<S extends Named>(samples: readonly S[], fields: readonly (keyof S & string)[]): void {
  for (const [place, sample] of samples.entries())
    for (const field of fields)
      if (!Number.isFinite(sample[field]))
        throw new RangeError(`${called(sample, place)}: ${field}: expected a finite number, got ${sample[field]}`)
}

/** Flags, one per token, 0 or 1 (or booleans). */
export function checkFlags<S extends Named>(samples: readonly S[], field: keyof S & string, like: keyof S & string) {
  for (const [place, sample] of samples.entries()) {
    const flags = sample[field] as ArrayLike<number | boolean> | undefined
    const { length } = sample[like] as ArrayLike<number>
    if (flags && flags.length !== length)
      throw new RangeError(
        `${called(sample, place)}: ${field}: expected ${length} flags, one per token, got ${flags.length}`,
      )
  }
}

/** Finite inputs can still overflow (a log-ratio of 800): report such a gradient or value with its token. */
export function checkTokenGradient(sample: Named, place: number, gradient: Float64Array, value: number): void {
  if (!allFinite(gradient)) {
    const t = gradient.findIndex(value => !Number.isFinite(value))
    throw new RangeError(`${called(sample, place)}: the gradient is ${gradient[t]} at token ${t}`)
  }
  if (!Number.isFinite(value)) throw new RangeError(`${called(sample, place)}: the loss is ${value}`)
}

/** The same for losses of one number per sample, or of two. */
export function checkNumberGradient(sample: Named, place: number, value: number, ...gradients: number[]): void {
  const wrong = gradients.find(gradient => !Number.isFinite(gradient))
  if (!Number.isFinite(value) || wrong !== undefined)
    throw new RangeError(`${called(sample, place)}: the loss is ${value} and its gradient ${wrong ?? gradients[0]}`)
}

/** Totals are those of the whole batch, so that no part of it can have more. */
export function checkTotal(what: string, total: number, present: number): void {
  if (!Number.isSafeInteger(total) || total < 0)
    throw new RangeError(`totals: expected a number of ${what}, got ${total}`)
  if (present > total)
    throw new RangeError(
      `totals: expected the totals of the whole batch, got ${total} ${what}, but these samples alone have ${present}`,
    )
}
