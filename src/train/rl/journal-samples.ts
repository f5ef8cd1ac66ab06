/** The samples of an iteration as its journal has them, for those who look at a run: trained or not, whole or just begun. */
import type { Inference } from '../../experience/index.js'
import { meanKl, tokenKl } from '../../maths/index.js'
import type { RewardOutcome } from '../../reward/index.js'
import type { Outcome } from '../../rollout/index.js'
import type { Journal } from '../../run/index.js'
import type { RlConfig } from './config.js'
import { comparableLogprobs } from './engine-logprobs.js'
import { IterationJournal } from './iteration-journal.js'

export interface JournalledSample {
  readonly promptId: string
  readonly sample: number
  readonly promptIds: Int32Array
  readonly outcome: Outcome
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
  const prompts = new Map(recorded.prompts.map(({ promptId, ids }) => [promptId, ids]))
  const trained = recorded.rollout && new Set(recorded.rollout.samples.map(nameOf))
  const keys = recorded.keys.sort(
    (a, b) => (places.get(a.promptId) ?? 0) - (places.get(b.promptId) ?? 0) || a.sample - b.sample,
  )
  const samples = keys.map((key): JournalledSample => {
    const outcome = recorded.outcome(key)!
    const inference = recorded.inference(key)
    const own = outcome.kind === 'completed' ? outcome.promptIds : undefined
    return {
      ...key,
      promptIds: own ?? prompts.get(key.promptId) ?? new Int32Array(),
      outcome,
      reward: recorded.reward(key),
      inference,
      trained: trained?.has(nameOf(key)),
      kl: klOf(inference, settings),
      entropy: meanOf(inference?.entropies),
      gap: gapOf(outcome, inference, settings),
    }
  })
  return { samples, ended: recorded.end !== undefined }
}

function klOf(inference: Inference | undefined, settings: SamplingSettings): number | undefined {
  const { logprobs, refLogprobs } = inference ?? {}
  if (!logprobs || !refLogprobs || logprobs.length === 0) return undefined
  const estimator = settings.klEstimator ?? (settings.useKlLoss ? 'k3' : 'k1')
  return meanKl([tokenKl({ logprobs, refLogprobs, estimator })])
}

/** With filters the distributions differ on purpose: there is no gap. */
function gapOf(outcome: Outcome, inference: Inference | undefined, settings: SamplingSettings): number | undefined {
  const { temperature = 1, topP = 1, topK = 0 } = settings
  const own = inference?.logprobs
  if (outcome.kind !== 'completed' || !own || topP < 1 || topK > 0) return undefined
  const engine = comparableLogprobs(outcome.logprobs, temperature)
  if (!engine || own.length === 0 || engine.length < own.length) return undefined
  return meanOf(own.map((logprob, t) => Math.abs(logprob - engine[t]!)))
}

function meanOf(values: Float32Array | undefined): number | undefined {
  return values && values.length > 0 ? values.reduce((a, b) => a + b, 0) / values.length : undefined
}

const nameOf = ({ promptId, sample }: { readonly promptId: string; readonly sample: number }): string =>
  `${sample} ${promptId}`
