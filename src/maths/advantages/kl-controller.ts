import { z } from 'zod'

const coef = z.number().min(0)

/**
 * The KL coefficient. `fixed` never changes; `adaptive` moves the coefficient so that the measured KL approaches a target. A
 * plain value, saved in a checkpoint as JSON.
 */
export const klControllerSchema = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('fixed'), coef: coef.default(0.01).describe('KL coefficient of the whole run') }),
  z.strictObject({
    kind: z.literal('adaptive'),
    coef: z.number().positive().default(0.01).describe('initial KL coefficient'),
    target: z.number().positive().describe('target KL'),
    horizon: z
      .number()
      .positive()
      .default(10_000)
      .describe('number of samples over which the coefficient changes by at most a fifth'),
  }),
])

export type KlController = z.output<typeof klControllerSchema>

/** What a checkpoint holds, or what a config says, checked. */
export function restoreKlController(saved: unknown): KlController {
  return klControllerSchema.parse(saved)
}

/** Limit of the relative error of one rollout. */
const largestError = 0.2

/**
 * The controller for the next rollout, once per rollout. `nSteps` is how many samples the rollout had.
 *
 * @example
 * const controller = updateKlController({ kind: 'adaptive', coef: 0.01, target: 0.01, horizon: 10_000 }, { kl: 0.05, nSteps: 640 })
 * controller.coef // 0.010128
 */
export function updateKlController(
  controller: KlController,
  { kl, nSteps }: { kl: number; nSteps: number },
): KlController {
  if (controller.kind === 'fixed') return controller
  if (!Number.isFinite(kl)) throw new RangeError(`the measured KL is not finite: ${kl}`)
  const error = Math.max(-largestError, Math.min(largestError, kl / controller.target - 1))
  const factor = 1 + (error * nSteps) / controller.horizon
  if (!(factor > 0))
    throw new RangeError(
      `horizon: ${controller.horizon} is too small for a rollout of ${nSteps} samples; it must be more than a fifth of them`,
    )
  return { ...controller, coef: controller.coef * factor }
}
