/**
 * Optimisers. A step is two programs on a thread of their own: the norms of the gradients, which are looked at before
 * anything changes, then clipping and the fused update. 16-bit parameters are updated through float32 copies.
 */

import { adamwStep } from './adamw-kernel.js'
import { noGrad } from './autograd.js'
import type { NumberLike } from './call.js'
import type { DType } from './dtype.js'
import { ArgumentError, TensorError } from './errors.js'
import {
  foreachAdd_,
  foreachCopy_,
  foreachMul_,
  foreachNorm,
  fusedAdamw_,
  fusedSgd_,
  stack,
  zeros,
} from './operators.generated.js'
import { type Program, record } from './program.js'
import { scope, unscoped } from './scope.js'
import type { Tensor } from './tensor.js'

/** Parameters by name; the names are those of the saved state and of error messages. */
export type Parameters = ReadonlyMap<string, Tensor>

/** A gradient with an infinity or a NaN in it. The weights have not changed. */
export class NonFiniteGradientError extends TensorError {
  override name = 'NonFiniteGradientError'
  constructor(readonly parameters: readonly string[]) {
    const more = parameters.length > 5 ? ` and ${parameters.length - 5} more` : ''
    super(`the gradient is not finite in ${parameters.slice(0, 5).join(', ')}${more}; the weights were not changed`)
  }
}

export interface Update {
  /** The global norm of the gradients, before clipping. */
  norm: number
  /** What the gradients were multiplied with; 1 when they were not clipped. */
  scale: number
}

export interface StepOptions {
  /** Multiplies every group's learning rate; what a schedule gives. */
  lrScale?: number
  /** Gradients whose global norm is larger are scaled down to it. */
  clipNorm?: number
}

interface Slot {
  name: string
  parameter: Tensor
  /** What the update changes: the parameter, or its float32 copy. */
  target: Tensor
  state: ReadonlyMap<string, Tensor>
}

interface Group<O> {
  options: O
  slots: Slot[]
}

/** The programs for one set of parameters that have a gradient. */
interface Prepared {
  names: readonly string[]
  norms: Program<readonly [], Tensor>
  update: Program<readonly 'number'[], void>
}

abstract class Optimizer<O extends { lr: number }> {
  private readonly groups: Group<O>[]
  private readonly prepared = new Map<string, Prepared>()
  /** So few numbers on the CPU that a step takes less than handing it to another thread. */
  private readonly short: boolean

  protected constructor(groups: readonly (O & { parameters: Parameters })[], stateNames: readonly string[]) {
    const seen = new Set<string>()
    const makeSlot = (name: string, parameter: Tensor): Slot => {
      if (seen.has(name)) throw new ArgumentError(`parameter ${name} is in two groups`)
      seen.add(name)
      const { dtype, device, shape } = parameter
      const narrow = dtype === 'bfloat16' || dtype === 'float16'
      const target = narrow ? noGrad(() => parameter.toCopy({ dtype: 'float32' })) : parameter
      const state = new Map<string, Tensor>()
      for (const key of stateNames) {
        const counter = key === 'step'
        state.set(key, zeros(counter ? [] : shape, { dtype: counter ? 'float32' : target.dtype, device }))
      }
      return { name, parameter, target, state }
    }
    // Outlives whatever scope it is made in.
    this.groups = unscoped(() =>
      groups.map(({ parameters, ...options }) => ({
        options: options as unknown as O,
        slots: [...parameters].map(([name, parameter]) => makeSlot(name, parameter)),
      })),
    )
    const parameters = this.groups.flatMap(({ slots }) => slots.map(({ parameter }) => parameter))
    this.short =
      parameters.every(({ device }) => device === 'cpu') &&
      parameters.reduce((sum, { numel }) => sum + numel, 0) < 1 << 18
  }

  /** Records the update of some of one group's slots from their gradients times `scale`. */
  protected abstract recordUpdate(options: O, slots: readonly Slot[], scale: NumberLike, lr: NumberLike): void

  private prepare(): Prepared {
    const active = this.groups.map(({ slots }) =>
      slots.filter(({ parameter }) => scope(() => parameter.grad !== undefined)),
    )
    const all = active.flat()
    if (all.length === 0) throw new ArgumentError('no parameter has a gradient; call backward() first')
    const names = all.map(({ name }) => name)
    const key = names.join('\n')
    const known = this.prepared.get(key)
    if (known) return known

    const norms = record([], () =>
      noGrad(() => {
        const gradients = all.map(({ parameter }) => parameter.grad!)
        return stack(foreachNorm(gradients, 2, { dtype: normDtype(all) })).toCopy({ dtype: 'float64' })
      }),
    )
    const kinds = ['number', ...this.groups.map(() => 'number' as const)] as const
    const update = record(kinds as readonly 'number'[], (scale, ...rates) => {
      noGrad(() => {
        for (const [i, { options }] of this.groups.entries()) {
          const slots = active[i]!
          if (slots.length > 0) this.recordUpdate(options, slots, scale, rates[i]!)
        }
      })
    })
    const fresh: Prepared = { names, norms, update }
    this.prepared.set(key, fresh)
    return fresh
  }

  /**
   * Applies the accumulated gradients. A gradient that is not finite is refused before any weight changes; parameters
   * without a gradient are left alone. Gradients stay until `zeroGrad`.
   */
  async step(options: StepOptions = {}): Promise<Update> {
    const { names, norms, update } = this.prepare()
    const tensor = await (this.short ? norms.runShort() : norms.run())
    const values = await tensor.data<'float64'>()
    tensor.dispose()
    const bad = names.filter((_, i) => !Number.isFinite(values[i]))
    if (bad.length > 0) throw new NonFiniteGradientError(bad)
    const norm = Math.sqrt(values.reduce((sum, value) => sum + value * value, 0))
    const { clipNorm, lrScale = 1 } = options
    const scale = clipNorm === undefined ? 1 : Math.min(1, clipNorm / (norm + 1e-6))
    const rates = this.groups.map(group => group.options.lr * lrScale)
    await (this.short ? update.runShort(scale, ...rates) : update.run(scale, ...rates))
    return { norm, scale }
  }

  /** Drops the gradients; the next `backward` makes new ones. */
  zeroGrad(): void {
    for (const { slots } of this.groups) for (const { parameter } of slots) parameter.grad = undefined
  }

  /**
   * Everything that `load` needs to continue exactly, float32 copies included, by name. The tensors are the optimiser's own:
   * write them out, do not dispose them.
   */
  state(): Map<string, Tensor> {
    const saved = new Map<string, Tensor>()
    for (const { slots } of this.groups) {
      for (const { name, parameter, target, state } of slots) {
        if (target !== parameter) saved.set(`${name}.master`, target)
        for (const [key, tensor] of state) saved.set(`${name}.${key}`, tensor)
      }
    }
    return saved
  }

  load(saved: ReadonlyMap<string, Tensor>): void {
    const mine = this.state()
    const missing = [...mine.keys()].filter(name => !saved.has(name))
    const unknown = [...saved.keys()].filter(name => !mine.has(name))
    if (missing.length + unknown.length > 0) {
      throw new ArgumentError(
        `the saved optimiser state is of another model: ${missing.length} missing (${missing[0] ?? '-'}), ${unknown.length} unknown (${unknown[0] ?? '-'})`,
      )
    }
    scope(() =>
      noGrad(() => {
        for (const [name, tensor] of mine) tensor.copy_(saved.get(name)!)
      }),
    )
  }

  dispose(): void {
    for (const tensor of this.state().values()) tensor.dispose()
    for (const { norms, update } of this.prepared.values()) {
      norms.dispose()
      update.dispose()
    }
    this.prepared.clear()
  }
}

export interface AdamWOptions {
  lr: number
  betas?: readonly [number, number]
  eps?: number
  /** Decoupled: subtracts `lr * weightDecay * parameter`, apart from the gradient. */
  weightDecay?: number
}

/**
 * Adam with decoupled weight decay, by libtorch's fused operator; the numbers are PyTorch's.
 *
 * ```ts
 * const optimizer = new AdamW([{ parameters: weights, lr: 1e-3, weightDecay: 0.1 }, { parameters: norms, lr: 1e-3 }])
 * loss.backward()
 * const { norm } = await optimizer.step({ clipNorm: 1 })
 * optimizer.zeroGrad()
 * ```
 */
export class AdamW extends Optimizer<AdamWOptions> {
  constructor(groups: readonly (AdamWOptions & { parameters: Parameters })[]) {
    super(groups, ['step', 'exp_avg', 'exp_avg_sq'])
  }

  protected recordUpdate(options: AdamWOptions, slots: readonly Slot[], scale: NumberLike, lr: NumberLike): void {
    const { betas = [0.9, 0.999], eps = 1e-8, weightDecay = 0 } = options
    foreachAdd_(
      slots.map(({ state }) => state.get('step')!),
      1,
    )
    const byKernel = slots.filter(({ parameter, target }) => parameter !== target && parameter.device !== 'cpu')
    for (const { parameter, target, state } of byKernel) {
      const [first, second, step] = [state.get('exp_avg')!, state.get('exp_avg_sq')!, state.get('step')!]
      const given = { parameter, copy: target, first, second, step, gradient: parameter.grad! }
      adamwStep(given, { scale, lr, betas, eps, weightDecay })
    }
    updateWide(
      slots.filter(slot => !byKernel.includes(slot)),
      scale,
      (targets, gradients, of) => {
        const [beta1, beta2] = betas
        const rates = { lr, beta1, beta2, weightDecay, eps, amsgrad: false, maximize: false }
        fusedAdamw_(targets, gradients, of('exp_avg'), of('exp_avg_sq'), [], of('step'), rates)
      },
    )
  }
}

export interface SgdOptions {
  lr: number
  momentum?: number
  /** Added to the gradient, as PyTorch's SGD does. */
  weightDecay?: number
  nesterov?: boolean
}

/** Stochastic gradient descent with momentum, by libtorch's fused operator; the numbers are PyTorch's. */
export class Sgd extends Optimizer<SgdOptions> {
  constructor(groups: readonly (SgdOptions & { parameters: Parameters })[]) {
    super(groups, groups.some(({ momentum }) => (momentum ?? 0) !== 0) ? ['momentum'] : [])
  }

  protected recordUpdate(options: SgdOptions, slots: readonly Slot[], scale: NumberLike, lr: NumberLike): void {
    const { momentum = 0, weightDecay = 0, nesterov = false } = options
    updateWide(slots, scale, (targets, gradients, of) => {
      // A buffer of zeros after one step is momentum * 0 + gradient: PyTorch's special first step needs no flag.
      fusedSgd_(targets, gradients, momentum === 0 ? [] : of('momentum'), {
        ...{ weightDecay, momentum, lr, nesterov },
        ...{ dampening: 0, maximize: false, isFirstStep: false },
      })
    })
  }
}

/** Calls `update` with gradients as wide as what it changes, and rounds 16-bit parameters from their copies afterwards. */
function updateWide(
  slots: readonly Slot[],
  scale: NumberLike,
  update: (targets: Tensor[], gradients: Tensor[], of: (key: string) => Tensor[]) => void,
): void {
  if (slots.length === 0) return
  const gradients = slots.map(({ parameter, target }) =>
    parameter === target ? parameter.grad! : parameter.grad!.toCopy({ dtype: 'float32' }),
  )
  foreachMul_(gradients, scale)
  update(
    slots.map(({ target }) => target),
    gradients,
    key => slots.map(({ state }) => state.get(key)!),
  )
  const narrow = slots.filter(({ parameter, target }) => parameter !== target)
  if (narrow.length === 0) return
  foreachCopy_(
    narrow.map(({ parameter }) => parameter),
    narrow.map(({ target }) => target),
  )
}

/** A norm of 16-bit gradients needs more digits than they have. */
function normDtype(slots: readonly Slot[]): DType | undefined {
  return slots.some(({ parameter, target }) => parameter !== target) ? 'float32' : undefined
}
