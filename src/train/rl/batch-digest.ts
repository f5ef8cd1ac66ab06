/** Fingerprints of what a sample brings to training: of the numbers the journal holds, and of those derived from them. */
import { createHash } from 'node:crypto'
import type { Experience } from '../../experience/index.js'

export interface SampleDigest {
  /** Tokens, images, log-probabilities, values, the raw reward: as they were reported. */
  readonly given: string
  /** Advantages, returns, masks: as they were derived from all samples of the rollout. */
  readonly derived: string
}

export function sampleDigest(one: Experience): SampleDigest {
  const { sequence, logprobs, refLogprobs, values, entropies, engineLogprobs, policyVersion } = one
  const { ids, origin, trained, media, unread = [] } = sequence
  // Nothing where there are none, so that runs of earlier versions can be compared.
  const seen = media.map(({ pixels, runs }) => Buffer.from(`${pixels.hash} ${JSON.stringify(runs)}`))
  if (unread.length > 0) seen.push(Buffer.from(`unread ${unread.join()}`))
  const engine = [engineLogprobs.raw, engineLogprobs.processed]
  const numbers = Float64Array.of(one.reward, policyVersion, one.temperature)
  return {
    given: digest([ids, origin, trained, logprobs, refLogprobs, values, entropies, ...engine, numbers, ...seen]),
    derived: digest([one.advantages, one.returns, one.lossMask, one.kl, Float64Array.of(one.shapedReward)]),
  }
}

/** Lengths are part of it, so that a number cannot move from one array to the next. */
function digest(arrays: readonly (ArrayBufferView | undefined)[]): string {
  const hash = createHash('sha256')
  for (const array of arrays) {
    hash.update(`${array?.byteLength ?? -1};`)
    if (array) hash.update(new Uint8Array(array.buffer, array.byteOffset, array.byteLength))
  }
  return hash.digest('hex').slice(0, 16)
}
