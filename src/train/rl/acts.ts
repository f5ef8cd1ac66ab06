/**
 * What people may do to a run that trains, and what it means for an iteration. Pure: a run, a resumed run and a replay read the same list of
 * acts and come to the same.
 */
import { z } from 'zod'
import type { Collected, Dropped } from '../../experience/index.js'
import type { ActRecord } from '../../run/index.js'
import { type Acts as ActsOf, actsOf, plainActs, type Setting } from '../run/run-control.js'
import { type RlConfig, referenceOf, rlProblems, rlSchema } from './config.js'
import { dataRowOf } from './prompt-rows.js'

/** Options that may change while a run trains, by dotted key. */
const changeable = ['optimizer.lr', 'klController.coef', 'temperature', 'evaluation.every'] as const
type Changeable = (typeof changeable)[number]

const promptId = z.string().min(1).max(2000)

export const actSchema = z.discriminatedUnion('act', [
  ...plainActs,
  z.strictObject({ act: z.literal('set'), option: z.enum(changeable), value: z.number() }),
  z.strictObject({ act: z.literal('drop-prompt'), promptId }),
  z.strictObject({ act: z.literal('restore-prompt'), promptId }),
  z.strictObject({
    act: z.literal('drop-sample'),
    promptId,
    sample: z.int().min(0),
    iteration: z.int().min(0),
  }),
])
export type Act = z.output<typeof actSchema>

export type Acts = ActsOf<Act>

export const knownActs = (records: readonly ActRecord[]): Acts => actsOf(actSchema, records)

/** The config of an iteration, with what was set for it. */
export function actedConfig(config: RlConfig, acts: Acts, iteration: number): RlConfig {
  let acted = config
  for (const { from, act } of acts) if (act.act === 'set' && from <= iteration) acted = withOption(acted, act)
  return acted
}

/** The KL coefficient that was set for this iteration first; an adaptive controller goes on from it. */
export function actedKlCoef(acts: Acts, iteration: number): number | undefined {
  const set = acts.findLast(
    ({ from, act }) => from <= iteration && act.act === 'set' && act.option === 'klController.coef',
  )
  return set?.act.act === 'set' && set.from === iteration ? set.act.value : undefined
}

function withOption(config: RlConfig, { option, value }: { option: Changeable; value: number }): RlConfig {
  switch (option) {
    case 'optimizer.lr':
      return { ...config, optimizer: { ...config.optimizer, lr: value } }
    case 'klController.coef':
      return { ...config, klController: { ...config.klController, coef: value } }
    case 'temperature':
      return { ...config, temperature: value }
    default:
      return { ...config, evaluation: { ...config.evaluation, every: value } }
  }
}

/** Why a value cannot be set; undefined where it can. */
export function settingProblem(config: RlConfig, set: { option: Changeable; value: number }): string | undefined {
  const parsed = rlSchema.safeParse(JSON.parse(JSON.stringify(withOption(config, set))))
  // Definitions of a program are no JSON: only what was set is looked at.
  const issue = parsed.error?.issues.find(({ path }) => path.join('.') === set.option)
  if (issue) return `${set.option}: ${issue.message}`
  const before = new Set(rlProblems(config))
  return rlProblems(withOption(config, set)).find(problem => !before.has(problem))
}

/** What can be changed, with the values of an iteration. */
export function settingsOf(
  started: RlConfig,
  { acts, iteration, klCoef, heldOut }: { acts: Acts; iteration: number; klCoef: number; heldOut: number },
): Setting[] {
  const { shape } = rlSchema
  const config = actedConfig(started, acts, iteration)
  return [
    { option: 'optimizer.lr', value: config.optimizer.lr, help: 'peak learning rate', reason: null },
    {
      option: 'klController.coef',
      value: actedKlCoef(acts, iteration) ?? klCoef,
      help: shape.klController.description ?? '',
      // By the config of the start: a coefficient that was set to 0 meanwhile leaves the reference where it is.
      reason: referenceOf(started) === 'none' ? 'the run was started without a reference model' : null,
    },
    { option: 'temperature', value: config.temperature, help: shape.temperature.description ?? '', reason: null },
    {
      option: 'evaluation.every',
      value: config.evaluation.every,
      help: 'iterations between evaluations',
      reason: heldOut === 0 ? 'the run has no held-out prompts' : null,
    },
  ]
}

/** Rows that an iteration does not draw. */
export function droppedRows(acts: Acts, iteration: number): ReadonlySet<string> {
  const rows = new Set<string>()
  for (const { from, act } of acts) {
    if (from > iteration) continue
    if (act.act === 'drop-prompt') rows.add(dataRowOf(act.promptId))
    if (act.act === 'restore-prompt') rows.delete(dataRowOf(act.promptId))
  }
  return rows
}

/** How many rows there are at least, of so many visits in an epoch. */
export function fewestRows(visits: number, data: RlConfig['data']): number {
  const weights = [data].flat().map(source => (typeof source === 'string' ? 1 : (source.weight ?? 1)))
  return Math.floor(visits / weights.reduce((most, weight) => Math.max(most, Math.ceil(weight)), 1))
}

/** Without the groups of samples that were dropped: a group whose samples are compared with each other is there whole or not at all. */
export function withoutDroppedSamples(collected: Collected, acts: Acts, iteration: number): Collected {
  const names = new Set(
    acts.flatMap(({ act }) =>
      act.act === 'drop-sample' && act.iteration === iteration ? [`${act.sample} ${act.promptId}`] : [],
    ),
  )
  if (names.size === 0) return collected
  const nameOf = ({ prompt, sample }: Collected['groups'][number][number]): string =>
    `${sample.sample} ${prompt.sequence.promptId}`
  const groups = collected.groups.filter(group => !group.some(one => names.has(nameOf(one))))
  const dropped = collected.groups
    .filter(group => !groups.includes(group))
    .flat()
    .map(
      (one): Dropped => ({
        promptId: one.prompt.sequence.promptId,
        sample: one.sample.sample,
        stage: 'group',
        reason: 'dropped-by-hand',
        message: names.has(nameOf(one)) ? 'a person dropped it' : 'a person dropped a sample of its group',
      }),
    )
  return { ...collected, groups, dropped: [...collected.dropped, ...dropped] }
}

/** An act of reinforcement learning in words. */
export function actText(act: Act, from: number): string {
  switch (act.act) {
    case 'set':
      return `${act.option} is ${act.value} from iteration ${from} on`
    case 'drop-prompt':
      return `prompt ${dataRowOf(act.promptId)} is not used from iteration ${from} on`
    case 'restore-prompt':
      return `prompt ${dataRowOf(act.promptId)} is used again from iteration ${from} on`
    case 'drop-sample':
      return `sample ${act.sample} of prompt ${act.promptId} does not count in iteration ${act.iteration}`
    default:
      return act.act
  }
}
