/** How far a policy is from its reference, by the estimator of a config. */
import { tokenKl } from '../../maths/index.js'
import type { RlConfig } from './config.js'

export type KlSettings = Partial<Pick<RlConfig, 'klEstimator' | 'useKlLoss'>>

/** Of each token; undefined where one of both is not known. */
export function referenceKl(
  { logprobs, refLogprobs }: { logprobs: Float32Array | undefined; refLogprobs: Float32Array | undefined },
  { klEstimator, useKlLoss }: KlSettings,
): Float64Array | undefined {
  if (!logprobs || logprobs.length === 0 || logprobs.length !== refLogprobs?.length) return undefined
  return tokenKl({ logprobs, refLogprobs, estimator: klEstimator ?? (useKlLoss ? 'k3' : 'k1') })
}
