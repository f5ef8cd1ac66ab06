/** Diagnoses of the metrics, each with what to look at. */
import { diagnose, type RunView } from '../../run/index.js'
import type { Alert, AlertsAnswer } from '../api.js'
import type { Handler } from './index.js'

/** What to look at, and the metrics to show. */
const advice: Readonly<Record<string, { readonly look: string; readonly metrics: readonly string[] }>> = {
  'rewards-fail': {
    look: 'Filter samples by dropped, and read what the reward source answered.',
    metrics: ['samples/trained'],
  },
  'equal-rewards': {
    look: 'Read samples of the last iteration with their rewards side by side.',
    metrics: ['reward/std', 'reward/mean'],
  },
  'equal-groups': {
    look: 'Open the groups of the last iteration: all right means too easy, all wrong means too hard.',
    metrics: ['groups/zero_variance', 'reward/mean'],
  },
  truncated: {
    look: 'Filter samples by finish=length and read how they end.',
    metrics: ['length/truncated', 'length/mean'],
  },
  'no-gradient': {
    look: 'Compare the groups: without a difference of rewards there is no gradient.',
    metrics: ['grad/norm', 'advantage/std'],
  },
  'weights-unchanged': {
    look: 'Raise the learning rate, or look at dtype and masters in the config.',
    metrics: ['weights/changed', 'lr'],
  },
  'reward-falls': {
    look: 'Compare samples of before and after the fall; lower the learning rate.',
    metrics: ['reward/mean', 'kl/mean'],
  },
  'reward-flat': {
    look: 'Read the best and the worst samples: does the reward tell them apart?',
    metrics: ['reward/mean', 'reward/std'],
  },
  'kl-runaway': {
    look: 'Read samples: are texts still sound? Raise the KL coefficient, or lower the learning rate.',
    metrics: ['kl/mean', 'policy/approx_kl'],
  },
  'entropy-collapse': {
    look: 'Open groups: are the samples of a prompt all the same? Raise the temperature.',
    metrics: ['entropy/mean', 'reward/mean'],
  },
  'answers-shrink': {
    look: 'Sort samples by length and read the shortest ones with a high reward.',
    metrics: ['length/mean', 'reward/mean'],
  },
  'gap-grows': {
    look: 'Colour tokens by gap: which tokens differ between engine and trainer?',
    metrics: ['gap/mean', 'gap/max'],
  },
  overflows: { look: 'Use bfloat16 or float32.', metrics: ['grad/overflows', 'grad/loss_scale'] },
  'loss-rises': { look: 'Lower the learning rate.', metrics: ['loss/train', 'grad/norm'] },
  overfits: { look: 'Stop earlier, or use more data.', metrics: ['loss/validation', 'loss/train'] },
  'pairs-not-learnt': { look: 'Read some pairs of the data.', metrics: ['reward/accuracy', 'preference/accuracy'] },
}

export const alertsRoute: Handler = async ({ catalog }, { parts }): Promise<AlertsAnswer> => {
  const { view } = await catalog.run(parts.run!)
  return { alerts: alertsOf(view) }
}

export function alertsOf({ metrics, status, events, step }: RunView): Alert[] {
  const now = diagnose(metrics, status === 'finished' ? 'end' : 'step')
  // What the run itself said, at the step it said it; some of it may not hold any more.
  const said = new Map<string, { readonly message: string; readonly page: string; readonly step: number }>()
  for (const event of events) {
    const { kind, diagnosis, message, page } = event
    if (kind !== 'warning' || typeof diagnosis !== 'string' || said.has(diagnosis)) continue
    said.set(diagnosis, { message: String(message), page: String(page), step: Number(event.step ?? 0) })
  }
  const past = [...said].filter(([id]) => !now.some(finding => finding.id === id))
  return [
    ...now.map(finding => ({ ...finding, step: said.get(finding.id)?.step ?? step, holds: true })),
    ...past.map(([id, finding]) => ({ id, ...finding, holds: false })),
  ].map(({ id, message, page, step: since, holds }) => ({
    id,
    message,
    page,
    step: since,
    holds,
    advice: advice[id]?.look ?? '',
    metrics: (advice[id]?.metrics ?? []).filter(name => metrics.has(name)),
  }))
}
