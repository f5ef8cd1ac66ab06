/**
 * AdamW. A step is two programs on a thread of their own: the norms of the gradients, which are looked at before anything
 * changes, then clipping and the fused update. 16-bit parameters are updated through float32 copies.
 */

import { adamwStep, COUNTERS, type RecordedRates, rateNames } from './adamw-kernel.js'
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
  stack,
  zeros,
} from './operators.generated.js'
import { type Program, record } from './program.js'
import { scope, unscoped } from './scope.js'
import type { Tensor } from './tensor.js'

/** Parameters by name; the names are those of the saved state and of error messages. */
type Parameters = ReadonlyMap<string, Tensor>

/** The norm of a gradient is not finite, so the gradient is not, or it is too large for its square. No weight was changed. */
export class NonFiniteGradientError extends TensorError {
  override name = 'NonFiniteGradientError'
  constructor(readonly parameters: readonly string[]) {
    const more = parameters.length > 5 ? ` and ${parameters.length - 5} more` : ''
    super(
      `the norm of the gradient is not finite in ${parameters.slice(0, 5).join(', ')}${more}; this step did not change the weights`,
    )
  }
}

export interface Update {
  /** The global norm of the gradients, before clipping. */
  norm: number
  /** What the gradients were multiplied with; 1 when they were not clipped. */
  scale: number
  /** The share of 16-bit weights that this step changed, when the device has made it; undefined where there are none. */
  changed: Promise<number> | undefined
}

export interface AdamWOptions {
  lr: number
  /** Default 0.9 and 0.999. */
  betas?: readonly [number, number]
  /** Default 1e-8. */
  eps?: number
  /** Decoupled: subtracts `lr * weightDecay * parameter`, apart from the gradient. Default 0. */
  weightDecay?: number
}

export interface StepOptions {
  /** Multiplies every group's learning rate; what a schedule gives. */
  lrScale?: number
  /** Gradients whose global norm is larger are scaled down to it. */
  clipNorm?: number
  /** What the loss, and so every gradient, was multiplied with; the step divides by it. Default 1. */
  lossScale?: number
  /** What replaces each group's options in this step, in the order of the groups. */
  groups?: readonly Partial<AdamWOptions>[]
  /** Where each parameter is a part of a larger one: gives the norms of the whole gradients for those of the parts. */
  wholeNorms?: (norms: Float64Array) => Promise<Float64Array>
}

/** What an update computes with. */
type Rates = Required<AdamWOptions>

/**
 * The options with defaults in place. A number that is not one, or that float32 cannot hold, is a `RangeError`: it would
 * reach the weights.
 */
export function adamWRates(options: AdamWOptions): Rates {
  const { lr, betas = [0.9, 0.999], eps = 1e-8, weightDecay = 0 } = options
  const refuse = (name: string, expected: string, value: unknown): never => {
    throw new RangeError(`${name} should be ${expected}, got ${String(value)}`)
  }
  const finite = (value: unknown): value is number => typeof value === 'number' && Number.isFinite(Math.fround(value))
  if (!finite(lr) || lr < 0) refuse('lr', 'a number of at least 0 in the range of float32', lr)
  if (!finite(weightDecay) || weightDecay < 0)
    refuse('weightDecay', 'a number of at least 0 in the range of float32', weightDecay)
  if (!finite(lr * weightDecay)) refuse('lr times weightDecay', 'a number in the range of float32', lr * weightDecay)
  if (!finite(eps) || !(Math.fround(eps) > 0)) refuse('eps', 'a number above 0 in the range of float32', eps)
  if (!Array.isArray(betas) || betas.length !== 2) refuse('betas', 'two numbers', betas)
  for (const [i, beta] of betas.entries())
    if (!finite(beta) || beta < 0 || Math.fround(beta) >= 1)
      refuse(`betas[${i}]`, 'at least 0 and below 1, in float32', beta)
  return { lr, betas, eps, weightDecay }
}

/** `RangeError` for a bound that is none. */
export function checkClipNorm(clipNorm: number | undefined): void {
  if (clipNorm !== undefined && !(typeof clipNorm === 'number' && clipNorm > 0))
    throw new RangeError(`clipNorm should be more than 0, got ${String(clipNorm)}; remove it for no clipping`)
}

interface Slot {
  name: string
  parameter: Tensor
  /** What the update changes: the parameter, or its float32 copy. */
  target: Tensor
  step: Tensor
  firstMoment: Tensor
  secondMoment: Tensor
}

/** Parameters that share options. */
interface ParameterGroup extends AdamWOptions {
  parameters: Parameters
  /** float32 copies of 16-bit parameters to start from, by name; the optimiser's from then on. Default: made here. */
  masters?: Parameters
}

interface Group {
  options: AdamWOptions
  slots: Slot[]
}

/** The programs for one set of parameters that have a gradient. */
interface Prepared {
  names: readonly string[]
  norms: Program<readonly [], Tensor>
  /** Gives how many 16-bit weights changed, where there are any. */
  update: Program<readonly 'number'[], Tensor | undefined>
  /** 16-bit weights among them. */
  narrow: number
}

const rateNumbers = ({ lr, betas: [beta1, beta2], eps, weightDecay }: Rates): number[] => {
  const numbers = { lr, beta1, beta2, logBeta1: Math.log(beta1), logBeta2: Math.log(beta2), eps, weightDecay }
  return rateNames.map(name => numbers[name])
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
export class AdamW {
  private readonly groups: Group[]
  private readonly prepared = new Map<string, Prepared>()
  /** So few numbers on the CPU that a step takes less than handing it to another thread. */
  private readonly short: boolean

  constructor(groups: readonly ParameterGroup[]) {
    for (const group of groups) adamWRates(group)
    const seen = new Set<string>()
    const makeSlot = (name: string, parameter: Tensor, master: Tensor | undefined): Slot => {
      if (seen.has(name)) throw new ArgumentError(`parameter ${name} is in two groups`)
      seen.add(name)
      const { dtype, device, shape } = parameter
      const narrow = dtype === 'bfloat16' || dtype === 'float16'
      const target = narrow ? (master ?? noGrad(() => parameter.toCopy({ dtype: 'float32' }))) : parameter
      const moment = (): Tensor => zeros(shape, { dtype: target.dtype, device })
      return {
        ...{ name, parameter, target },
        step: zeros([], { dtype: 'float32', device }),
        ...{ firstMoment: moment(), secondMoment: moment() },
      }
    }
    // Outlives whatever scope it is made in.
    this.groups = unscoped(() =>
      groups.map(({ parameters, masters, ...options }) => ({
        options,
        slots: [...parameters].map(([name, parameter]) => makeSlot(name, parameter, masters?.get(name))),
      })),
    )
    const parameters = this.groups.flatMap(({ slots }) => slots.map(({ parameter }) => parameter))
    this.short =
      parameters.every(({ device }) => device === 'cpu') &&
      parameters.reduce((sum, { numel }) => sum + numel, 0) < 1 << 18
  }

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
    const kinds = Array<'number'>(1 + rateNames.length * this.groups.length).fill('number')
    const update = record(kinds as readonly 'number'[], (scale, ...numbers) =>
      noGrad(() => {
        const changed = active.flatMap(slots => {
          const given = numbers.splice(0, rateNames.length)
          const rates = Object.fromEntries(rateNames.map((name, i) => [name, given[i]!])) as RecordedRates
          return slots.length > 0 ? recordUpdate(slots, scale, rates) : []
        })
        return changed.length > 0 ? stack(changed).sum() : undefined
      }),
    )
    const narrow = all
      .filter(({ parameter, target }) => parameter !== target)
      .reduce((sum, { parameter }) => sum + parameter.numel, 0)
    const fresh: Prepared = { names, norms, update, narrow }
    this.prepared.set(key, fresh)
    return fresh
  }

  /**
   * Applies the accumulated gradients. A gradient whose norm is not finite is refused before any weight changes; parameters
   * without a gradient are left alone. Gradients stay until `zeroGrad`.
   */
  async step(options: StepOptions = {}): Promise<Update> {
    const { clipNorm, lrScale = 1, lossScale = 1, groups = [], wholeNorms } = options
    checkClipNorm(clipNorm)
    const rates = this.groups.map(({ options }, i) => {
      const wanted = adamWRates({ ...options, ...groups[i] })
      return adamWRates({ ...wanted, lr: wanted.lr * lrScale })
    })
    const { names, norms, update, narrow } = this.prepare()
    const tensor = await (this.short ? norms.runShort() : norms.run())
    const own = await tensor.data<'float64'>()
    tensor.dispose()
    const values = wholeNorms ? await wholeNorms(own) : own
    const bad = names.filter((_, i) => !Number.isFinite(values[i]))
    if (bad.length > 0) throw new NonFiniteGradientError(bad)
    const norm = Math.sqrt(values.reduce((sum, value) => sum + value * value, 0)) / lossScale
    const scale = clipNorm === undefined ? 1 : Math.min(1, clipNorm / (norm + 1e-6))
    const numbers = rates.flatMap(rateNumbers)
    const factor = scale / lossScale
    const count = await (this.short ? update.runShort(factor, ...numbers) : update.run(factor, ...numbers))
    if (!count) return { norm, scale, changed: undefined }
    // Not awaited: the device may still be at the update while the host prepares what comes next.
    const changed = count.data<'int64'>().then(([changed]) => Number(changed) / narrow)
    changed.catch(() => {}).finally(() => count.dispose())
    return { norm, scale, changed }
  }

  /** Drops the gradients; the next `backward` makes new ones. */
  zeroGrad(): void {
    for (const { slots } of this.groups) for (const { parameter } of slots) parameter.grad = undefined
  }

  /** The float32 copies of 16-bit parameters, by name: the optimiser's own. */
  masters(): Map<string, Tensor> {
    const slots = this.groups.flatMap(({ slots }) => slots)
    return new Map(slots.flatMap(({ name, parameter, target }) => (target === parameter ? [] : [[name, target]])))
  }

  /**
   * Everything that `load` needs to continue exactly, float32 copies included, by name. The tensors are the optimiser's own:
   * write them out, do not dispose them.
   */
  state(): Map<string, Tensor> {
    const saved = new Map<string, Tensor>()
    for (const { slots } of this.groups) {
      for (const { name, parameter, target, step, firstMoment, secondMoment } of slots) {
        if (target !== parameter) saved.set(`${name}.master`, target)
        saved.set(`${name}.step`, step)
        saved.set(`${name}.exp_avg`, firstMoment)
        saved.set(`${name}.exp_avg_sq`, secondMoment)
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
        `the saved optimiser state belongs to another model: ${missing.length} missing (${missing[0] ?? '-'}), ${unknown.length} unknown (${unknown[0] ?? '-'})`,
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

/**
 * Records the update of some of one group's slots from their gradients times `scale`. Answers with the numbers of 16-bit weights
 * that change, to be added up.
 */
function recordUpdate(slots: readonly Slot[], scale: NumberLike, rates: RecordedRates): Tensor[] {
  foreachAdd_(
    slots.map(({ step }) => step),
    1,
  )
  const byKernel = slots.filter(({ parameter, target }) => parameter !== target && parameter.device !== 'cpu')
  const fused = slots.filter(slot => !byKernel.includes(slot))
  return [...recordKernels(byKernel, scale, rates), ...(fused.length > 0 ? recordFused(fused, scale, rates) : [])]
}

function recordKernels(slots: readonly Slot[], scale: NumberLike, rates: RecordedRates): Tensor[] {
  if (slots.length === 0) return []
  const changed = zeros([COUNTERS], { dtype: 'int64', device: slots[0]!.parameter.device })
  for (const { parameter, target, firstMoment, secondMoment, step } of slots) {
    const given = { parameter, copy: target, first: firstMoment, second: secondMoment, step, gradient: parameter.grad! }
    adamwStep({ ...given, changed }, scale, rates)
  }
  return [changed.sum()]
}

function recordFused(slots: readonly Slot[], scale: NumberLike, rates: RecordedRates): Tensor[] {
  const gradients = slots.map(({ parameter, target }) =>
    parameter === target ? parameter.grad! : parameter.grad!.toCopy({ dtype: 'float32' }),
  )
  foreachMul_(gradients, scale)
  const of = (key: 'target' | 'firstMoment' | 'secondMoment' | 'step'): Tensor[] => slots.map(slot => slot[key])
  const { lr, beta1, beta2, weightDecay, eps } = rates
  const options = { lr, beta1, beta2, weightDecay, eps, amsgrad: false, maximize: false }
  fusedAdamw_(of('target'), gradients, of('firstMoment'), of('secondMoment'), [], of('step'), options)
  // 16-bit parameters are rounded from their copies.
  const narrow = slots.filter(({ parameter, target }) => parameter !== target)
  const rounded = narrow.map(({ parameter, target }) => target.toCopy({ dtype: parameter.dtype }))
  const changed = narrow.map(({ parameter }, i) => rounded[i]!.ne(parameter).sum())
  if (narrow.length > 0)
    foreachCopy_(
      narrow.map(({ parameter }) => parameter),
      rounded,
    )
  return changed
}

/** A norm of 16-bit gradients needs more digits than they have. */
function normDtype(slots: readonly Slot[]): DType | undefined {
  return slots.some(({ parameter, target }) => parameter !== target) ? 'float32' : undefined
}
