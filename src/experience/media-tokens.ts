/**
 * Placeholders of images and videos in responses. Engines of ours never sample one. A response of another engine may have some, and no
 * image belongs to them: the sample is dropped, or a model reads it without them. Its ids stay what was sampled.
 */
import type { Outcome, Sample } from '../rollout/index.js'
import { origins, type Sequence, withUnread } from '../sequence/index.js'
import type { ExperienceConfig } from './config.js'

/** What is done with them, and the ids of images and of videos, in this order. */
export interface MediaTokenRules {
  readonly mediaRepair: ExperienceConfig['mediaRepair']
  readonly placeholderIds: readonly number[]
}

type Unread = NonNullable<Sample['unread']>

const reasons = ['surplus-image', 'surplus-video'] as const

/** The outcome as the journal keeps it: a sample with the places of its placeholders, or a failure that names the first. */
export function checkedMediaTokens(outcome: Outcome, rules: MediaTokenRules): Outcome {
  if (outcome.kind !== 'completed' || outcome.unread) return outcome
  const { responseIds } = outcome
  const found = surplusTokens(responseIds, rules)
  if (found.length === 0) return outcome
  if (rules.mediaRepair === 'mask' && found.length < responseIds.length) return { ...outcome, unread: found }
  const { requestId, promptId, sample, seed } = outcome
  const { at } = found[0]!
  const message = `token ${at} of the response (${responseIds[at]}) is a placeholder of an image or a video, and none belongs to it`
  return { kind: 'failed', reason: 'media-tokens', message, requestId, promptId, sample, seed }
}

/** Why an episode cannot be trained on: placeholders of its turns are not masked. */
export function episodeMediaProblem(sequences: readonly Sequence[], rules: MediaTokenRules): string | undefined {
  for (const { ids, origin } of sequences)
    for (const { at } of surplusTokens(ids, rules))
      if (origin[at] === origins.sampled)
        return `token ${at} of the episode (${ids[at]}) is a placeholder of an image or a video, and none belongs to it`
  return undefined
}

function surplusTokens(ids: Int32Array, { placeholderIds }: MediaTokenRules): Unread {
  const found: Unread[number][] = []
  for (const [at, id] of ids.entries()) {
    const kind = placeholderIds.indexOf(id)
    if (kind >= 0) found.push({ at, reason: reasons[kind]! })
  }
  return found
}

/** The sequence of a sample, of which a model reads no surplus placeholder. */
export function withoutSurplus<Row>(sequence: Sequence<Row>, { unread, responseIds }: Sample): Sequence<Row> {
  const first = sequence.ids.length - responseIds.length
  return unread
    ? withUnread(
        sequence,
        unread.map(({ at }) => first + at),
      )
    : sequence
}

/** What the engine says of the tokens that are trained. */
export function readFacts(sample: Sample): Sample {
  const { unread, responseIds, logprobs, versions } = sample
  if (!unread) return sample
  const left = new Set(unread.map(({ at }) => at))
  const kept = (values: Float32Array) => values.filter((_, at) => !left.has(at))
  /** Trained tokens before a place of the response. */
  const before = (end: number) => end - unread.filter(({ at }) => at < end).length
  return {
    ...sample,
    responseIds: responseIds.filter((_, at) => !left.has(at)),
    logprobs: {
      ...(logprobs.raw ? { raw: kept(logprobs.raw) } : {}),
      ...(logprobs.processed ? { processed: kept(logprobs.processed) } : {}),
    },
    versions: versions
      .map(span => ({ ...span, start: before(span.start), end: before(span.end) }))
      .filter(({ start, end }) => start < end),
  }
}

/** Masked tokens, by reason. */
export function countRepairs(samples: readonly { readonly sample: Pick<Sample, 'unread'> }[]): Record<string, number> {
  const counts: Record<string, number> = {}
  for (const { sample } of samples)
    for (const { reason } of sample.unread ?? []) counts[reason] = (counts[reason] ?? 0) + 1
  return counts
}
