/** What people may do to a training on rows while it goes on, and what it means for a step. Pure but for the socket. */
import { z } from 'zod'
import type { Run } from '../../run/index.js'
import { epochShape, type OptimizerConfig, optimizerShape } from '../config/common.js'
import { type Acts as ActsOf, plainActs, RunControl, type Setting } from '../run/run-control.js'

const changeable = ['optimizer.lr', 'evalSteps'] as const
type Changeable = (typeof changeable)[number]

const actSchema = z.discriminatedUnion('act', [
  ...plainActs,
  z.strictObject({ act: z.literal('set'), option: z.enum(changeable), value: z.number() }),
])
type SupervisedAct = z.output<typeof actSchema>
type Acts = ActsOf<SupervisedAct>

/** What acts may change of a config. */
interface Changing {
  readonly optimizer: OptimizerConfig
  readonly evalSteps?: number | undefined
}

/** The config of a step, with what was set for it. Steps count from 1. */
export function actedAt<C extends Changing>(config: C, acts: Acts, step: number): C {
  let acted = config
  for (const { from, act } of acts) if (act.act === 'set' && from <= step) acted = withOption(acted, act)
  return acted
}

function withOption<C extends Changing>(config: C, { option, value }: { option: Changeable; value: number }): C {
  if (option === 'evalSteps') return { ...config, evalSteps: value }
  return { ...config, optimizer: { ...config.optimizer, lr: value } }
}

interface SupervisedControlOptions {
  readonly run: Run
  readonly config: Changing
  readonly validation: 'none' | 'held out'
  /** The step that is made, and the first whose settings are not read yet. */
  readonly step: () => number
  readonly next: () => number
}

export type SupervisedControl = RunControl<SupervisedAct>

export function openSupervisedControl(options: SupervisedControlOptions): Promise<SupervisedControl> {
  const { run, config, step, next } = options
  const settings = (acts: Acts): Setting[] => settingsOf(actedAt(config, acts, next()), options)
  return RunControl.open<SupervisedAct>({
    ...{ run, schema: actSchema, unit: 'step', now: step, from: next, settings },
    text: (act, from) => (act.act === 'set' ? `${act.option} is ${act.value} from step ${from} on` : act.act),
    problem: (act, before) => {
      if (act.act !== 'set') return undefined
      return settings(before).find(({ option }) => option === act.option)?.reason ?? problemOf(act)
    },
  })
}

function problemOf({ option, value }: { option: Changeable; value: number }): string | undefined {
  const schema = option === 'evalSteps' ? epochShape.evalSteps : optimizerShape.lr
  const message = schema.safeParse(value).error?.issues[0]?.message
  return message === undefined ? undefined : `${option}: ${message}`
}

function settingsOf({ optimizer, evalSteps }: Changing, { validation }: SupervisedControlOptions): Setting[] {
  return [
    { option: 'optimizer.lr', value: optimizer.lr, help: optimizerShape.lr.description ?? '', reason: null },
    {
      option: 'evalSteps',
      value: evalSteps ?? null,
      help: epochShape.evalSteps.description ?? '',
      reason: validation === 'none' ? 'the run has no validation data' : null,
    },
  ]
}
