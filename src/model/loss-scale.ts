/**
 * The scale of the loss where gradients are float16, whose smallest number is 6e-8: gradients are computed times the scale, so that
 * small ones are not rounded to zero, and divided by it in float32 before the step. A gradient that overflows makes no step and
 * halves the scale; after many steps without overflow the scale doubles.
 */
import { z } from 'zod'
import { noGrad, type Tensor, unscoped } from '../tensor/index.js'

const first = 2 ** 16
const highest = 2 ** 24
/** Steps without overflow after which the scale doubles. */
const patience = 200

export const lossScaleSchema = z.strictObject({
  scale: z.number().positive(),
  /** Steps since the scale last changed. */
  steps: z.int().min(0),
})
export type LossScaleState = z.infer<typeof lossScaleSchema>

export class LossScale {
  private constructor(private current: LossScaleState | undefined) {}

  /** Only float16 needs one. */
  static for(dtype: string): LossScale {
    return new LossScale(dtype === 'float16' ? { scale: first, steps: 0 } : undefined)
  }

  /** What gradients are multiplied with: 1 where none is needed. */
  get value(): number {
    return this.current?.scale ?? 1
  }

  get state(): LossScaleState | undefined {
    return this.current
  }

  set state(saved: LossScaleState | undefined) {
    if (this.current && saved) this.current = saved
  }

  /** A gradient without the scale, in float32; the one with it is disposed. */
  unscaled(gradient: Tensor): Tensor {
    const wide = unscoped(() => noGrad(() => gradient.toCopy({ dtype: 'float32' }).div_(this.value)))
    gradient.dispose()
    return wide
  }

  /** After a step that was made. */
  grow(): void {
    if (!this.current) return
    const { scale, steps } = this.current
    this.current =
      steps + 1 >= patience && scale < highest ? { scale: 2 * scale, steps: 0 } : { scale, steps: steps + 1 }
  }

  /** After an overflow. False where nothing is left to halve: the gradient itself is too large. */
  shrink(): boolean {
    if (!this.current || this.current.scale <= 1) return false
    this.current = { scale: this.current.scale / 2, steps: 0 }
    return true
  }
}
