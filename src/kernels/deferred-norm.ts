/**
 * The parts of a decoder whose residual stream is float32. The product after a norm multiplies by the factor of the norm. Only the
 * inputs of products and attention are 16-bit. A training pass over whole sequences and a step over next tokens round their sums at
 * the same places, so their results are as close as 16-bit products are. All parts are differentiable.
 */
import { customFunction, type NumberLike, type Tensor } from '../tensor/index.js'
import { memoized } from './memoized.js'

/** A norm without its factor: rows times the norm's weight, rounded, and the factors, float32 `[rows]`. */
export interface DeferredNorm {
  values: Tensor
  rstd: Tensor
}

/** Computes the parts, without gradients. Shapes are known when they are recorded. */
export interface DeferredKernels {
  /** The norm of the stream plus `added`, float32 `[1, rows, hidden]`, where there is any. */
  norm(given: {
    added: Tensor | null
    stream: Tensor
    weight: Tensor
    hidden: number
    eps: NumberLike
  }): DeferredNorm & { sum: Tensor }
  /** The norm of the stream plus `x @ weight.T + bias`; the inner dimension may be divided into parts. */
  join(
    x: Tensor,
    given: {
      weight: Tensor
      bias: Tensor | null
      parts: number
      stream: Tensor
      norm: Tensor
      hidden: number
      inner: number
      eps: NumberLike
    },
  ): DeferredNorm & { sum: Tensor }
  /**
   * `gradient` is that of a norm's `values`; the factors' share of it is found here. Gradients of the stream, in float32 and
   * rounded, and of the norm's weight.
   */
  normBackward(given: {
    gradient: Tensor
    sum: Tensor
    weight: Tensor
    rstd: Tensor
    /** What arrives at the sum itself; null: nothing. */
    sumGradient: Tensor | null
    hidden: number
  }): { stream: Tensor; rounded: Tensor; weight: Tensor }
  /** `x @ weight.T + bias` of a norm. */
  linear(x: DeferredNorm, given: { weight: Tensor; bias: Tensor | null; features: number; inner: number }): Tensor
  /** `silu(gate) * up` of a norm's product; `gateUp`, rounded, where it is to be kept. */
  gated(
    x: DeferredNorm,
    given: { weight: Tensor; features: number; inner: number; keep: boolean },
  ): { out: Tensor; gateUp: Tensor | null }
  /** The gradient of gates and ups, times the rows' factors. */
  gatedBackward(gradient: Tensor, gateUp: Tensor, rstd: Tensor): Tensor
  /** Rows times factors. */
  scaleRows(x: Tensor, rstd: Tensor, width: number): Tensor
}

/** Differentiable; weights exist when they are recorded. A weight that requires no gradient gets none. */
export interface DeferredOps {
  /** The norm of a float32 stream. */
  norm(stream: Tensor, weight: Tensor, eps: number): DeferredNorm
  /** The stream plus `x @ weight.T + bias`, and the norm of that. `parts`: into how many the inner dimension is divided. */
  join(
    x: Tensor,
    given: { weight: Tensor; bias: Tensor | null; residual: Tensor; norm: Tensor; parts?: number },
    eps: number,
  ): { residual: Tensor; normed: DeferredNorm }
  /** The stream plus `x`, and the norm of that. */
  add(x: Tensor, given: { residual: Tensor; norm: Tensor }, eps: number): { residual: Tensor; normed: DeferredNorm }
  linear(x: DeferredNorm, weight: Tensor, bias: Tensor | null): Tensor
  /** `silu(gate) * up`. `gradients`: whether they are recorded. */
  gated(x: DeferredNorm, weight: Tensor, gradients: 'recorded' | 'none'): Tensor
  /** The whole norm. */
  rows(x: DeferredNorm, width: number): Tensor
}

/** Each is faster for its number of rows; what they compute is the same but for the order of sums. */
export interface DeferredOpsBySize {
  many: DeferredOps
  few: DeferredOps
}

/** Only products with weights read a norm's `values`, and all of them multiply by its factor, so the gradient has the factor already. */
export function deferredOps(kernels: DeferredKernels): DeferredOps {
  const { scaleRows } = kernels
  const weightGradient = (gradient: Tensor, x: Tensor, trained: boolean): Tensor | null =>
    trained ? gradient.t().mm(x) : null

  const norm = memoized((hidden: number) =>
    customFunction({
      inputs: ['tensor', 'tensor', 'number'],
      forward: (stream, weight, eps) => {
        const { values, rstd } = kernels.norm({ added: null, stream, weight, hidden, eps })
        return { outputs: [values, rstd] as const, saved: [stream, weight, rstd] }
      },
      backward: ({ saved: [sum, weight, rstd], gradients: [gradient] }) => {
        const given = { gradient: gradient!, sum: sum!, weight: weight!, rstd: rstd!, sumGradient: null, hidden }
        const found = kernels.normBackward(given)
        return [found.stream, found.weight]
      },
    }),
  )

  const add = memoized((hidden: number) =>
    customFunction({
      inputs: ['tensor', 'tensor', 'tensor', 'number'],
      forward: (x, stream, weight, eps) => {
        const added = x.toCopy({ dtype: 'float32' }).unsqueeze(0)
        const { values, rstd, sum } = kernels.norm({ added, stream, weight, hidden, eps })
        return { outputs: [values, rstd, sum] as const, saved: [sum, weight, rstd] }
      },
      backward: ({ saved: [sum, weight, rstd], gradients: [gradient, , sumGradient] }) => {
        const given = { sum: sum!, weight: weight!, rstd: rstd!, hidden }
        const found = kernels.normBackward({ ...given, gradient: gradient!, sumGradient: sumGradient! })
        return [found.rounded, found.stream, found.weight]
      },
    }),
  )

  interface JoinShape {
    hidden: number
    inner: number
    parts: number
    trained: boolean
  }
  const joinOf = memoized(({ hidden, inner, parts, trained }: JoinShape) => {
    const forward = (x: Tensor, weight: Tensor, bias: Tensor | null, stream: Tensor, norm: Tensor, eps: NumberLike) => {
      const given = { weight, bias, parts, stream, norm, hidden, inner, eps }
      const { values, rstd, sum } = kernels.join(x, given)
      return { outputs: [values, rstd, sum] as const, saved: [x, weight, sum, norm, rstd] }
    }
    const backward = (saved: readonly Tensor[], gradients: readonly Tensor[]) => {
      const [x, weight, sum, norm, rstd] = saved as [Tensor, Tensor, Tensor, Tensor, Tensor]
      const [gradient, , sumGradient] = gradients as [Tensor, Tensor, Tensor]
      const found = kernels.normBackward({ gradient, sum, weight: norm, rstd, sumGradient, hidden })
      const { rounded } = found
      return { ...found, x: rounded.mm(weight), product: weightGradient(rounded, x, trained), rounded }
    }
    return {
      plain: customFunction({
        inputs: ['tensor', 'tensor', 'tensor', 'tensor', 'number'],
        forward: (x, weight, stream, norm, eps) => forward(x, weight, null, stream, norm, eps),
        backward: ({ saved, gradients }) => {
          const found = backward(saved, gradients)
          return [found.x, found.product, found.stream, found.weight]
        },
      }),
      biased: customFunction({
        inputs: ['tensor', 'tensor', 'tensor', 'tensor', 'tensor', 'number'],
        forward: (x, weight, bias, stream, norm, eps) => forward(x, weight, bias, stream, norm, eps),
        backward: ({ saved, gradients }) => {
          const found = backward(saved, gradients)
          return [found.x, found.product, trained ? found.rounded.sum([0]) : null, found.stream, found.weight]
        },
      }),
    }
  })

  const linearOf = memoized(({ features, inner, trained }: { features: number; inner: number; trained: boolean }) => {
    const forward = (values: Tensor, rstd: Tensor, weight: Tensor, bias: Tensor | null) => ({
      outputs: kernels.linear({ values, rstd }, { weight, bias, features, inner }),
      saved: [values, rstd, weight],
    })
    const backward = ([values, rstd, weight]: readonly Tensor[], gradient: Tensor) => {
      const scaled = scaleRows(gradient.contiguous(), rstd!, features)
      return { values: scaled.mm(weight!), weight: weightGradient(scaled, values!, trained) }
    }
    return {
      plain: customFunction({
        inputs: ['tensor', 'tensor', 'tensor'],
        forward: (values, rstd, weight) => forward(values, rstd, weight, null),
        backward: ({ saved, gradients: [gradient] }) => {
          const found = backward(saved, gradient!)
          return [found.values, null, found.weight]
        },
      }),
      biased: customFunction({
        inputs: ['tensor', 'tensor', 'tensor', 'tensor'],
        forward,
        backward: ({ saved, gradients: [gradient] }) => {
          const found = backward(saved, gradient!)
          return [found.values, null, found.weight, trained ? gradient!.sum([0]) : null]
        },
      }),
    }
  })

  const gatedOf = memoized(({ features, inner, trained }: { features: number; inner: number; trained: boolean }) =>
    customFunction({
      inputs: ['tensor', 'tensor', 'tensor'],
      forward: (values, rstd, weight) => {
        const { out, gateUp } = kernels.gated({ values, rstd }, { weight, features, inner, keep: true })
        return { outputs: out, saved: [values, rstd, weight, gateUp!] }
      },
      backward: ({ saved: [values, rstd, weight, gateUp], gradients: [gradient] }) => {
        const scaled = kernels.gatedBackward(gradient!, gateUp!, rstd!)
        return [scaled.mm(weight!), null, weightGradient(scaled, values!, trained)]
      },
    }),
  )

  const rowsOf = memoized((width: number) =>
    customFunction({
      inputs: ['tensor', 'tensor'],
      forward: (values, rstd) => ({ outputs: scaleRows(values, rstd, width), saved: [rstd] }),
      backward: ({ saved: [rstd], gradients: [gradient] }) => [scaleRows(gradient!.contiguous(), rstd!, width), null],
    }),
  )

  const named = ([values, rstd, residual]: readonly [Tensor, Tensor, Tensor]) => ({
    residual,
    normed: { values, rstd },
  })
  return {
    norm: (stream, weight, eps) => {
      const [values, rstd] = norm(weight.shape[0]!)(stream, weight, eps)
      return { values, rstd }
    },
    add: (x, given, eps) => named(add(given.norm.shape[0]!)(x, given.residual, given.norm, eps)),
    join: (x, { weight, bias, residual, norm, parts = 1 }, eps) => {
      const [hidden, inner] = weight.shape as [number, number]
      const { plain, biased } = joinOf({ hidden, inner, parts, trained: weight.requiresGrad })
      return named(bias ? biased(x, weight, bias, residual, norm, eps) : plain(x, weight, residual, norm, eps))
    },
    linear: ({ values, rstd }, weight, bias) => {
      const [features, inner] = weight.shape as [number, number]
      const { plain, biased } = linearOf({ features, inner, trained: weight.requiresGrad })
      return bias ? biased(values, rstd, weight, bias) : plain(values, rstd, weight)
    },
    gated: (x, weight, gradients) => {
      const [both, inner] = weight.shape as [number, number]
      const features = both / 2
      if (gradients === 'none') return kernels.gated(x, { weight, features, inner, keep: false }).out
      return gatedOf({ features, inner, trained: weight.requiresGrad })(x.values, x.rstd, weight)
    },
    rows: ({ values, rstd }, width) => rowsOf(width)(values, rstd),
  }
}
