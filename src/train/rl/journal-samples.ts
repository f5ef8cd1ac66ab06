/** The samples of an iteration as its journal has them, for those who look at a run: trained or not, whole or just begun. */
import type { Inference } from '../../experience/index.js'
import { meanKl } from '../../maths/index.js'
import type { KeptMedia } from '../../media/index.js'
import type { RewardOutcome } from '../../reward/index.js'
import type { Outcome } from '../../rollout/index.js'
import type { Journal } from '../../run/index.js'
import type { RlConfig } from './config.js'
import { comparableLogprobs } from './engine-logprobs.js'
import { IterationJournal } from './iteration-journal.js'
import { type JournalledEpisode, journalledEpisode } from './journalled-episode.js'
import { referenceKl } from './reference-kl.js'

export interface JournalledSample {
  readonly promptId: string
  readonly sample: number
  readonly promptIds: Int32Array
  /** Images and videos of its prompt, whose pixels lie beside the journal. */
  readonly media: readonly KeptMedia[]
  /** Of an episode: all its turns as one response. */
  readonly outcome: Outcome
  /** Of each token of the response: 0 where it is not trained, as observations and placeholders. Undefined: all are. */
  readonly sampled: Uint8Array | undefined
  readonly episode: JournalledEpisode | undefined
  readonly reward: RewardOutcome | undefined
  readonly inference: Inference | undefined
  /** Undefined while the iteration has no batch. */
  readonly trained: boolean | undefined
  /** Means over its tokens, of what was recorded. */
  readonly kl: number | undefined
  readonly entropy: number | undefined
  readonly gap: number | undefined
}

/** Options of a run that means depend on. */
export type SamplingSettings = Partial<Pick<RlConfig, 'klEstimator' | 'useKlLoss' | 'temperature' | 'topP' | 'topK'>>

/** By prompt in the order they were taken, then by index. `ended`: nothing more is added to the iteration. */
export async function journalledSamples(
  journal: Journal,
  iteration: number,
  settings: SamplingSettings,
): Promise<{ samples: JournalledSample[]; ended: boolean }> {
  const recorded = await IterationJournal.open(journal, iteration)
  const places = new Map(recorded.prompts.map(({ promptId }, place) => [promptId, place]))
  const prompts = new Map(recorded.prompts.map(prompt => [prompt.promptId, prompt]))
  const trained = recorded.rollout && new Set(recorded.rollout.samples.map(nameOf))
  const episodes = new Map(
    recorded.episodeKeys.map(key => [nameOf(key), journalledEpisode(recorded.episodeRecords(key))] as const),
  )
  const keys = [...recorded.keys, ...recorded.episodeKeys.filter(key => episodes.get(nameOf(key)))].sort(
    (a, b) => (places.get(a.promptId) ?? 0) - (places.get(b.promptId) ?? 0) || a.sample - b.sample,
  )
  const samples = keys.map((key): JournalledSample => {
    const episode = episodes.get(nameOf(key))
    const outcome = episode?.outcome ?? recorded.outcome(key)!
    const inference = recorded.inference(key)
    const own = outcome.kind === 'completed' ? outcome.promptIds : undefined
    const prompt = prompts.get(key.promptId)
    const kl = recordedKl({ outcome, inference }, settings)
    return {
      ...key,
      promptIds: own ?? prompt?.ids ?? new Int32Array(),
      media: prompt?.media ?? [],
      outcome,
      sampled: episode?.sampled ?? withoutUnread(outcome),
      episode,
      reward: recorded.reward(key),
      inference,
      trained: trained?.has(nameOf(key)),
      kl: kl && meanKl([kl]),
      entropy: meanOf(inference?.entropies),
      gap: gapOf(outcome, inference, settings),
    }
  })
  return { samples, ended: recorded.end !== undefined }
}

/** Sampled placeholders of images are not trained. */
function withoutUnread(outcome: Outcome): Uint8Array | undefined {
  if (outcome.kind !== 'completed' || !outcome.unread || outcome.unread.length === 0) return undefined
  const sampled = new Uint8Array(outcome.responseIds.length).fill(1)
  for (const { at } of outcome.unread) sampled[at] = 0
  return sampled
}

/** Of each trained token, by the log-probabilities of the trainer, or of the engine where the rollout was not scored. */
export function recordedKl(
  { outcome, inference }: Pick<JournalledSample, 'outcome' | 'inference'>,
  settings: SamplingSettings,
): Float64Array | undefined {
  const { logprobs = engineLogprobs(outcome, settings), refLogprobs } = inference ?? {}
  return referenceKl({ logprobs, refLogprobs }, settings)
}

/** Where they can be compared with those of the trainer: with filters the distributions differ on purpose. */
function engineLogprobs(
  outcome: Outcome,
  { temperature = 1, topP = 1, topK = 0 }: SamplingSettings,
): Float32Array | undefined {
  if (outcome.kind !== 'completed' || topP < 1 || topK > 0) return undefined
  return comparableLogprobs(outcome.logprobs, temperature)
}

function gapOf(outcome: Outcome, inference: Inference | undefined, settings: SamplingSettings): number | undefined {
  const own = inference?.logprobs
  const engine = engineLogprobs(outcome, settings)
  if (!own || !engine || own.length === 0 || engine.length < own.length) return undefined
  return meanOf(own.map((logprob, t) => Math.abs(logprob - engine[t]!)))
}

function meanOf(values: Float32Array | undefined): number | undefined {
  return values && values.length > 0 ? values.reduce((a, b) => a + b, 0) / values.length : undefined
}

const nameOf = ({ promptId, sample }: { readonly promptId: string; readonly sample: number }): string =>
  `${sample} ${promptId}`
