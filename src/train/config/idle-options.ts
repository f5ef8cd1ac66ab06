/** Given options without effect because of other options. The config is valid, and the user gets a note. */
import type { ExperienceConfig } from '../../experience/index.js'
import { estimatorOf } from '../../maths/index.js'
import type { OptimizerConfig } from './common.js'
import type { ResolvedConfig } from './resolve.js'

export interface IdleRule<C> {
  /** By dotted path; a section stands for everything in it. */
  readonly options: readonly string[]
  /** Why they have no effect in this config; undefined if they have one. */
  why(config: C): string | undefined
}

/** A line for each, with the layer that gave it. Options that a preset or a default set are not reported. */
export function idleOptions<C>({ config, origins }: ResolvedConfig<C>, rules: readonly IdleRule<C>[]): string[] {
  return rules.flatMap(({ options, why }) => {
    const reason = why(config)
    if (reason === undefined) return []
    return options.flatMap(option => {
      const origin = givenBy(option, origins)
      return origin === undefined ? [] : [`${origin}: ${option} has no effect: ${reason}`]
    })
  })
}

function givenBy(option: string, origins: Readonly<Record<string, string>>): string | undefined {
  const found = Object.entries(origins).find(
    ([path, origin]) =>
      (path === option || path.startsWith(`${option}.`)) && origin !== 'default' && !origin.startsWith('preset '),
  )
  return found?.[1]
}

const where = (condition: boolean, reason: string): string | undefined => (condition ? reason : undefined)

/** Of an optimiser in a section of the config. */
export function optimizerIdle<C>(
  section: string,
  optimizerOf: (config: C) => OptimizerConfig | undefined,
): IdleRule<C> {
  return {
    options: [`${section}.minLrRatio`],
    why: config => where(optimizerOf(config)?.schedule === 'constant', `${section}.schedule is constant`),
  }
}

/** What holds rows out. */
interface HeldOut {
  readonly validationData?: unknown
  readonly validationShare: number
}

/** Of options that are about held-out rows. */
export function validationIdle(options: readonly string[]): IdleRule<HeldOut> {
  return {
    options,
    why: ({ validationData, validationShare }) =>
      where(
        validationData === undefined && validationShare === 0,
        'there is no validation data; give validationData or validationShare',
      ),
  }
}

type ExperienceOptionsUsed = Pick<
  ExperienceConfig,
  'advantageEstimator' | 'gamma' | 'useFire' | 'overlongBuffer' | 'dynamicSampling'
>

/** Of the options that experience generation has. */
export const experienceIdle: readonly IdleRule<ExperienceOptionsUsed>[] = [
  {
    options: ['lambd'],
    why: ({ advantageEstimator }) => {
      const { name, reads } = estimatorOf(advantageEstimator)
      return where(!reads.includes('lambd'), `only gae uses it, and advantageEstimator is ${name}`)
    },
  },
  {
    options: ['gamma'],
    why: ({ advantageEstimator, gamma }) => {
      const { name, reads } = estimatorOf(advantageEstimator)
      return where(!reads.includes('gamma') && gamma !== 1, `${name} always uses 1`)
    },
  },
  { options: ['firstTokenTemperature'], why: ({ useFire }) => where(!useFire, 'useFire is off') },
  {
    options: ['overlongBufferLen', 'overlongBufferPenaltyFactor'],
    why: ({ overlongBuffer }) => where(!overlongBuffer, 'overlongBuffer is off'),
  },
  { options: ['maxResampleRounds'], why: ({ dynamicSampling }) => where(!dynamicSampling, 'dynamicSampling is off') },
]
