/** Acts on a reinforcement learning: what they mean for its iterations, and which of them come too late. */
import type { Run } from '../../run/index.js'
import { RunControl, type Setting } from '../run/run-control.js'
import {
  type Act,
  type Acts,
  actedConfig,
  actSchema,
  actText,
  droppedRows,
  settingProblem,
  settingsOf,
} from './acts.js'
import { type ChatQuestion, chatSchema } from './chat-request.js'
import type { RlConfig } from './config.js'
import { dataRowOf } from './prompt-rows.js'

interface RlControlOptions {
  readonly run: Run
  readonly config: RlConfig
  /** Rows that prompts are drawn from, at least, and held-out prompts. */
  readonly rows: number
  readonly heldOut: number
  /** The coefficient of now. */
  readonly klCoef: () => number
  /** Samples of this iteration and those before it cannot be dropped any more. */
  readonly batched: number
  /** The iteration that trains, and the first whose rollout has not begun. */
  readonly iteration: () => number
  readonly next: () => number
  /** Answers a chat with the policy of now. */
  readonly chat: (question: ChatQuestion, send: (line: unknown) => void, signal: AbortSignal) => Promise<void>
}

interface RlControl extends Pick<RunControl<Act>, 'settled' | 'between' | 'close'> {
  /** Its batch is being made: samples of it can no longer be dropped. */
  batchOf(iteration: number): Promise<Acts>
}

export async function openRlControl(options: RlControlOptions): Promise<RlControl> {
  const { run, config, iteration, next, chat } = options
  let { batched } = options
  const settings = (acts: Acts): Setting[] =>
    settingsOf(config, { acts, iteration: next(), klCoef: options.klCoef(), heldOut: options.heldOut })
  const control = await RunControl.open<Act>({
    ...{ run, schema: actSchema, unit: 'iteration', now: iteration, text: actText, settings },
    from: act => (act.act === 'drop-sample' ? act.iteration : next()),
    problem: (act, before) => problemOf(act, before, { ...options, batched, settings: settings(before) }),
    droppedPrompts: acts => droppedRows(acts, next()),
    chat: async (question, send, signal) => chat(chatSchema.parse(question), send, signal),
  })
  return {
    settled: () => control.settled(),
    between: work => control.between(work),
    close: () => control.close(),
    batchOf: made => {
      batched = Math.max(batched, made)
      return control.settled()
    },
  }
}

interface Circumstances extends RlControlOptions {
  readonly settings: readonly Setting[]
}

function problemOf(act: Act, before: Acts, { config, next, rows, batched, settings }: Circumstances) {
  if (act.act === 'set') {
    const setting = settings.find(({ option }) => option === act.option)
    return setting?.reason ?? settingProblem(actedConfig(config, before, next()), act)
  }
  if (act.act === 'drop-prompt') {
    const dropped = droppedRows(before, next())
    if (dropped.has(dataRowOf(act.promptId))) return `prompt ${dataRowOf(act.promptId)} is dropped already`
    if (dropped.size + 1 >= rows) return 'the run would have no prompt left'
  }
  if (act.act === 'restore-prompt' && !droppedRows(before, next()).has(dataRowOf(act.promptId)))
    return `prompt ${dataRowOf(act.promptId)} is not dropped`
  if (act.act === 'drop-sample' && act.iteration <= batched)
    return `iteration ${act.iteration} has its batch already; drop the prompt to keep it out of later ones`
  return undefined
}
