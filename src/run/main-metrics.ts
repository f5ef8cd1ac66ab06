/** What a person looks at first, by command. */
import type { RunCommand } from './identity.js'
import type { MetricPoint, RunView } from './run-view.js'

const main: Readonly<Record<RunCommand, readonly string[]>> = {
  sft: ['loss/train', 'loss/validation', 'validation/perplexity', 'lr', 'grad/norm', 'speed/tokens_per_second'],
  reward: [
    'loss/train',
    'reward/accuracy',
    'validation/accuracy',
    'reward/margin',
    'validation/calibration',
    'grad/norm',
  ],
  rl: [
    'reward/mean',
    'validation/reward',
    'kl/mean',
    'entropy/mean',
    'length/mean',
    'policy/loss',
    'policy/approx_kl',
    'value/loss',
    'grad/norm',
    'gap/mean',
    'seconds/total',
  ],
  preference: [
    'loss/train',
    'preference/margin',
    'preference/accuracy',
    'validation/accuracy',
    'preference/chosen_reward',
    'preference/rejected_reward',
    'grad/norm',
  ],
}

const headlines: Readonly<Record<RunCommand, readonly string[]>> = {
  sft: ['loss/validation', 'loss/train'],
  reward: ['validation/accuracy', 'loss/train'],
  rl: ['validation/reward', 'reward/mean'],
  preference: ['validation/accuracy', 'preference/margin', 'loss/train'],
}

/** The metrics to draw where none were asked for: the main ones of the runs' commands, or whatever else there is. */
export function mainMetrics(runs: readonly RunView[]): string[] {
  const has = (name: string) => runs.some(({ metrics }) => metrics.has(name))
  const wanted = [...new Set(runs.flatMap(({ config }) => main[config.command] ?? []))].filter(has)
  if (wanted.length > 0) return wanted
  return [...new Set(runs.flatMap(({ metrics }) => [...metrics.keys()]))].sort().slice(0, 12)
}

/** Metrics that say how well a run did, the best known first. */
export const headlineNames = (command: RunView['config']['command']): readonly string[] => headlines[command] ?? []

/** How well a run did, in one number: its last reward, accuracy or loss. */
export function headline({ config, metrics }: RunView): { name: string; point: MetricPoint } | undefined {
  for (const name of headlineNames(config.command)) {
    const point = metrics.get(name)?.at(-1)
    if (point) return { name, point }
  }
  return undefined
}
