/**
 * Reasons why a run learns nothing, or is about to break: what its metrics look like then, words for people, and the page to read.
 * Pure functions over the metrics of a run, so that a run, a list of runs and a page over a run directory say the same.
 */
import { numberText } from '../progress/index.js'
import {
  all,
  failedShare,
  flatReward,
  grownGap,
  type History,
  hasSolved,
  isRising,
  last,
  lastText,
  least,
  type Moment,
  mean,
  recentFall,
  spread,
  values,
} from './metric-history.js'

export interface Diagnosis {
  readonly id: string
  /** What the metrics show, by the names in braces of `words`; undefined where it does not hold. */
  readonly when: (history: History, at: Moment) => Readonly<Record<string, string>> | undefined
  readonly words: string
  /** A page of the docs. */
  readonly page: string
  /** What to look at in the run, and metrics to show beside it. */
  readonly look: string
  readonly metrics: readonly string[]
  /** Diagnoses that are the cause of this one: where one of them holds, this one is not said. */
  readonly causes?: readonly string[]
}

const percent = (share: number): string => `${Math.round(100 * share)} %`

/** In the order in which they are said. */
export const diagnoses: readonly Diagnosis[] = [
  {
    id: 'rewards-fail',
    when: (history, at) => {
      const shares = failedShare(history, 3, at)
      if (!shares || !all(shares, share => share >= 0.5)) return undefined
      return { share: percent(mean(shares)), last: lastText(shares, 'iteration') }
    },
    words:
      'In the {last} {share} of the samples were dropped because their reward or their generation failed. The metrics drops/... and logs/skipped.jsonl say why.',
    page: 'reading-metrics.md#rewards-fail',
    look: 'Filter samples by dropped, and read what the reward source answered.',
    metrics: ['samples/trained'],
  },
  {
    id: 'equal-rewards',
    when: (history, at) => {
      const [stds, rewards] = [last(history, 'reward/std', 3, at), last(history, 'reward/mean', 3, at)]
      if (!rewards || !all(stds, std => std < 1e-9) || hasSolved(history)) return undefined
      return { reward: numberText(rewards.at(-1)!), last: lastText(rewards, 'iteration') }
    },
    words:
      'All rewards of the {last} are equal ({reward}), so the model cannot learn from them. Either the reward does not recognise good answers, or the task is too hard or too easy.',
    page: 'reading-metrics.md#the-reward-does-not-rise',
    look: 'Read samples of the last iteration with their rewards side by side.',
    metrics: ['reward/std', 'reward/mean'],
    causes: ['rewards-fail'],
  },
  {
    id: 'equal-groups',
    when: (history, at) => {
      const shares = last(history, 'groups/zero_variance', 5, at)
      if (!shares || !all(shares, share => share >= 0.95) || hasSolved(history)) return undefined
      return { share: percent(mean(shares)), last: lastText(shares, 'iteration') }
    },
    words:
      'In {share} of the groups of the {last} all samples have the same reward, so almost no sample has an advantage.',
    page: 'reading-metrics.md#groupszero_variance-is-near-1',
    look: 'Open the groups of the last iteration: all right means too easy, all wrong means too hard.',
    metrics: ['groups/zero_variance', 'reward/mean'],
    causes: ['equal-rewards', 'rewards-fail'],
  },
  {
    id: 'truncated',
    when: (history, at) => {
      const shares = last(history, 'length/truncated', 3, at)
      if (!shares || !all(shares, share => share >= 0.9) || isRising(history)) return undefined
      return { share: percent(mean(shares)), last: lastText(shares, 'iteration') }
    },
    words:
      '{share} of the responses of the {last} ended at the length limit, so their end is missing. Raise maxNewTokens, or look at samples: the model may never end an answer.',
    page: 'reading-metrics.md#answers-are-truncated',
    look: 'Filter samples by finish=length and read how they end.',
    metrics: ['length/truncated', 'length/mean'],
  },
  {
    id: 'no-gradient',
    when: (history, at) => {
      const norms = last(history, 'grad/norm', 5, at)
      return norms && all(norms, norm => norm < 1e-12) ? { last: lastText(norms, 'step') } : undefined
    },
    words: 'The gradient of the {last} is 0, so no weight changes.',
    page: 'reading-metrics.md#the-loss-is-0',
    look: 'Compare the groups: without a difference of rewards there is no gradient.',
    metrics: ['grad/norm', 'advantage/std'],
    causes: ['equal-rewards', 'equal-groups', 'rewards-fail'],
  },
  {
    id: 'weights-unchanged',
    when: history => {
      // Steps without a gradient say nothing about the size of the steps.
      if (!history.has('weights/changed')) return undefined
      const norms = new Map(history.get('grad/norm')?.map(({ step, value }) => [step, value]))
      const changed = history
        .get('weights/changed')!
        .filter(({ step }) => norms.get(step))
        .slice(-10)
      const sum = changed.reduce((total, { value }) => total + value, 0)
      return changed.length === 10 && sum < 0.001 ? { share: `${numberText(100 * sum, 2)} %` } : undefined
    },
    words:
      'The last 10 steps changed only {share} of the 16-bit weights, so the model hardly changes: the learning rate is too small for this dtype, or masters is exact.',
    page: 'precision.md',
    look: 'Raise the learning rate, or look at dtype and masters in the config.',
    metrics: ['weights/changed', 'lr'],
    causes: ['no-gradient'],
  },
  {
    id: 'reward-falls',
    when: history => {
      const fall = recentFall(history)
      return fall && { from: numberText(fall.from, 3), to: numberText(fall.to, 3) }
    },
    words: 'The reward falls: its mean was {from} and is now {to}.',
    page: 'reading-metrics.md#the-reward-falls',
    look: 'Compare samples of before and after the fall; lower the learning rate.',
    metrics: ['reward/mean', 'kl/mean'],
  },
  {
    id: 'kl-runaway',
    when: history => {
      const recent = last(history, 'kl/mean', 3, 'step')
      const before = values(history, 'kl/mean').slice(0, -10)
      if (!all(recent, kl => kl > 1) || before.length === 0) return undefined
      const now = mean(recent!)
      return now > 2 * before.at(-1)! ? { from: numberText(before.at(-1)!, 3), to: numberText(now, 3) } : undefined
    },
    words:
      'The model moves far from the reference: the KL per token was {from} ten iterations ago and is now {to} nats. Its texts are probably damaged.',
    page: 'reading-metrics.md#kl-explodes',
    look: 'Read samples: are texts still sound? Raise the KL coefficient, or lower the learning rate.',
    metrics: ['kl/mean', 'policy/approx_kl'],
  },
  {
    id: 'entropy-collapse',
    when: history => {
      const entropies = values(history, 'entropy/mean')
      if (entropies.length < 15 || hasSolved(history) || isRising(history)) return undefined
      const [first, now] = [mean(entropies.slice(0, 5)), mean(entropies.slice(-5))]
      if (now > 0.2 * first || now > 0.1) return undefined
      return { from: numberText(first, 3), to: numberText(now, 3) }
    },
    words:
      'The entropy fell from {from} to {to} nats while the reward does not rise: the model always gives the same answer and explores nothing.',
    page: 'reading-metrics.md#entropy-collapses',
    look: 'Open groups: are the samples of a prompt all the same? Raise the temperature.',
    metrics: ['entropy/mean', 'reward/mean'],
  },
  {
    id: 'answers-shrink',
    when: history => {
      const lengths = values(history, 'length/mean')
      if (lengths.length < 15 || !isRising(history)) return undefined
      const [from, to] = [mean(lengths.slice(0, 5)), mean(lengths.slice(-5))]
      return to < 0.35 * from ? { from: numberText(from, 2), to: numberText(to, 2) } : undefined
    },
    words:
      'The answers shrank from {from} to {to} tokens while the reward rises: the reward may be gamed. Read some samples; a larger KL coefficient keeps the answers.',
    page: 'reading-metrics.md#the-length-changes-with-the-reward',
    look: 'Sort samples by length and read the shortest ones with a high reward.',
    metrics: ['length/mean', 'reward/mean'],
  },
  {
    id: 'gap-grows',
    when: history => {
      const grown = grownGap(history)
      return grown && { from: numberText(grown.from, 2), to: numberText(grown.to, 2) }
    },
    words:
      'Engine and trainer drift apart: the mean gap between their log-probabilities was {from} and is now {to} nats, so that ratios are noise.',
    page: 'reading-metrics.md#gapmean-engine-and-trainer-differ',
    look: 'Colour tokens by gap: which tokens differ between engine and trainer?',
    metrics: ['gap/mean', 'gap/max'],
  },
  {
    id: 'reward-flat',
    when: history => {
      const flat = flatReward(history)
      return flat && { count: String(flat.iterations), reward: numberText(flat.reward, 3) }
    },
    words: 'The reward is flat: after {count} iterations its mean is {reward}, as at the start.',
    page: 'reading-metrics.md#the-reward-does-not-rise',
    look: 'Read the best and the worst samples: does the reward tell them apart?',
    metrics: ['reward/mean', 'reward/std'],
    causes: ['rewards-fail', 'equal-rewards', 'equal-groups', 'no-gradient', 'weights-unchanged', 'entropy-collapse'],
  },
  {
    id: 'overflows',
    when: history => (all(last(history, 'grad/overflows', 10, 'step'), count => count >= 1) ? {} : undefined),
    words: 'Each of the last 10 steps overflowed in float16 and was computed again.',
    page: 'reading-metrics.md#numbers-that-are-not-finite',
    look: 'Use bfloat16 or float32.',
    metrics: ['grad/overflows', 'grad/loss_scale'],
  },
  {
    id: 'loss-rises',
    when: history => {
      const losses = values(history, 'loss/train')
      // The loss of a policy is near 0 and says nothing of progress.
      const isPolicy = values(history, 'policy/loss').length > 0
      if (losses.length < 30 || isPolicy) return undefined
      const [first, recent] = [losses.slice(0, 10), losses.slice(-10)]
      const noise = spread([...first, ...recent])
      const [from, to] = [mean(first), mean(recent)]
      return to > 1.2 * from && to - from > 3 * noise ? { from: numberText(from, 3), to: numberText(to, 3) } : undefined
    },
    words: 'The training loss rises: it was {from} and is now {to}. The learning rate is probably too large.',
    page: 'reading-metrics.md#sft-the-loss-jumps-or-does-not-fall',
    look: 'Lower the learning rate.',
    metrics: ['loss/train', 'grad/norm'],
  },
  {
    id: 'overfits',
    when: history => {
      const losses = values(history, 'loss/validation')
      const best = least(losses)
      const recent = losses.slice(-3)
      if (losses.length < 4 || !all(recent, loss => loss > 1.05 * best)) return undefined
      return { from: numberText(best, 3), to: numberText(recent.at(-1)!, 3) }
    },
    words:
      'The loss on held-out rows rises: it was {from} and is now {to}. The model overfits; best_model is the one of the lowest loss.',
    page: 'reading-metrics.md#does-the-model-learn',
    look: 'Stop earlier, or use more data.',
    metrics: ['loss/validation', 'loss/train'],
  },
  {
    id: 'pairs-not-learnt',
    when: history => {
      for (const name of ['reward/accuracy', 'preference/accuracy']) {
        const accuracies = values(history, name)
        if (accuracies.length < 50) continue
        const now = mean(accuracies.slice(-25))
        if (now < 0.53) return { share: percent(now) }
      }
      return undefined
    },
    words:
      'The model prefers the chosen response in {share} of the pairs, no more than by chance. The pairs may be noise, or the learning rate too small.',
    page: 'reading-metrics.md#does-the-model-learn',
    look: 'Read some pairs of the data.',
    metrics: ['reward/accuracy', 'preference/accuracy'],
  },
]

/** What holds at the end of a history. */
export interface Finding {
  readonly id: string
  readonly message: string
  /** A page of the docs, and its section. */
  readonly page: string
}

/**
 * Everything that is wrong with a run now, by its metrics. At the end of a run a few steps are enough to say it.
 *
 * @example
 * const { metrics, status } = await Run.read('runs/rl')
 * for (const { message, page } of diagnose(metrics, status === 'finished' ? 'end' : 'step')) console.log(message, page)
 */
export function diagnose(history: History, at: Moment = 'step'): Finding[] {
  const found = new Map<string, Finding>()
  for (const { id, when, words, page, causes = [] } of diagnoses) {
    if (causes.some(cause => found.has(cause))) continue
    const evidence = when(history, at)
    if (!evidence) continue
    const message = words.replace(/\{(\w+)\}/g, (_, name: string) => evidence[name] ?? '')
    found.set(id, { id, message, page: `docs/${page}` })
  }
  return [...found.values()]
}
