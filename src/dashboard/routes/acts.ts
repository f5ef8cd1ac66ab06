/** Acts: what was done to a run, and requests that go to the run itself. */
import { z } from 'zod'
import { type ActRecord, actsInForce, askRun, RunError, type RunView, readActs } from '../../run/index.js'
import { dataRowOf } from '../../train/records.js'
import { type ActsAnswer, type ChangeableOption, changeableOptions } from '../api.js'
import { isListening } from '../control.js'
import { RequestError } from '../errors.js'
import { rewardNames } from '../reward-names.js'
import { checkedBody } from './flags.js'
import type { Handler } from './index.js'

/** The run checks the act itself; here it is only told from other bodies. */
const requestSchema = z.looseObject({ act: z.string().max(40) })

interface StateAnswer {
  readonly state: ActsAnswer['state']
  readonly settings: ActsAnswer['settings']
  readonly droppedPrompts: readonly string[]
}

export const actsRoute: Handler = async ({ catalog, rewards }, { parts }): Promise<ActsAnswer> => {
  const { directory, view } = await catalog.runNow(parts.run!)
  const records = await readActs(directory)
  const isRl = view.config.command === 'rl'
  const changeable: readonly ChangeableOption[] = changeableOptions[isRl ? 'rl' : 'rows']
  const reason = await whyDeaf(directory, view)
  const state = reason === null ? await stateOf(directory) : undefined
  const inForce = actsInForce(records, view.config.changes)
  return {
    listening: state !== undefined,
    reason: reason ?? (state ? null : 'the run does not answer now: it may be in a long step'),
    state: state?.state ?? null,
    unit: isRl ? 'iteration' : 'step',
    settings: state?.settings ?? changeable.map(option => settingOf(view, inForce, { option, reason })),
    droppedPrompts: state?.droppedPrompts ?? droppedIn(records),
    acts: records.map(({ time, from, act }) => ({
      time,
      from,
      act: act as unknown as ActsAnswer['acts'][number]['act'],
      // Events after the checkpoint that a run was resumed from are gone; its acts are not.
      text: textOf(view, { time, from, act }) ?? Object.values(act).join(' '),
    })),
    rewards: rewardNames(view, rewards),
  }
}

export const actRoute: Handler = async ({ catalog, live }, exchange) => {
  const { name, directory, view } = await catalog.runNow(exchange.parts.run!)
  const request = await checkedBody(exchange, requestSchema)
  const reason = await whyDeaf(directory, view)
  if (reason !== null) throw new RequestError(409, reason)
  try {
    for await (const line of askRun(directory, request)) {
      if (typeof line.error === 'string') throw new RequestError(400, line.error)
      live.send({ kind: 'acts', run: name })
      return line
    }
  } catch (error) {
    if (error instanceof RunError) throw new RequestError(409, error.message)
    throw error
  }
  throw new RequestError(409, 'the run ended before it answered')
}

/** Why no act reaches a run; null where they do. */
export async function whyDeaf(directory: string, view: RunView): Promise<string | null> {
  const { status } = view
  if (status === 'finished') return 'the run has finished: nothing can be done to it'
  if (status !== 'running') return `the run is not training (${status}); resume it to act on it`
  if (!(await isListening(directory)))
    return 'the run is starting, or its process does not listen; this run is read only'
  return null
}

async function stateOf(directory: string): Promise<StateAnswer | undefined> {
  try {
    for await (const line of askRun(directory, { ask: 'state' }, { patienceMs: 5000 }))
      return line as unknown as StateAnswer
  } catch {
    // It ended in between.
  }
  return undefined
}

/** As the run itself would tell. */
function droppedIn(acts: readonly ActRecord[]): string[] {
  const names = new Set<string>()
  for (const { act } of acts) {
    if (typeof act.promptId !== 'string') continue
    if (act.act === 'drop-prompt') names.add(dataRowOf(act.promptId))
    if (act.act === 'restore-prompt') names.delete(dataRowOf(act.promptId))
  }
  return [...names]
}

/** The event of an act has its words. */
function textOf({ events }: RunView, { time, from, act }: ActRecord): string | undefined {
  const at = Date.parse(time)
  const fields = Object.entries({ from, ...act })
  const found = events.find(
    event =>
      event.kind === 'act' && Date.parse(event.time) >= at && fields.every(([key, value]) => event[key] === value),
  )
  return typeof found?.text === 'string' ? found.text : undefined
}

/** Of a run that does not answer: what was set last, or its config. */
function settingOf(
  view: RunView,
  acts: readonly ActRecord[],
  { option, reason }: { option: ChangeableOption; reason: string | null },
) {
  const set = acts.findLast(({ act }) => act.act === 'set' && act.option === option)
  const given = option
    .split('.')
    .reduce<unknown>((found, key) => (found as Record<string, unknown> | undefined)?.[key], view.config.config)
  const value = set?.act.value ?? given
  return { option, value: typeof value === 'number' ? value : null, help: '', reason: reason ?? '' }
}

const rescoreSchema = z.strictObject({
  rewards: z.string().max(4000),
  where: z.string().max(2000).optional(),
  search: z.string().max(1000).optional(),
  ids: z.array(z.string().max(2000)).max(2000).optional(),
  limit: z.int().min(1).max(2000).optional(),
})

export const rescoreRoute: Handler = async ({ catalog, services, rescoring, rewards, flagsOf }, exchange) => {
  const { directory, view } = await catalog.run(exchange.parts.run!)
  const asked = await checkedBody(exchange, rescoreSchema)
  const known = rewardNames(view, rewards)
  if (!known.includes(asked.rewards))
    throw new RequestError(
      403,
      `rewards: only files of the run's config and of \`whetstone dashboard --rewards\` can be used (${known.join(', ') || 'there are none'})`,
    )
  const { where = '', search = '', ids, limit = 200 } = asked
  const service = await services.of(directory)
  const flags = await flagsOf(directory).all()
  const { samples, matched } = await service.ask('selected', { where, search, ids, limit, flags })
  const gone = new AbortController()
  exchange.response.on('close', () => gone.abort(new Error('the page is gone')))
  const { config } = view
  return rescoring.rescore({ run: { directory, config }, rewards: asked.rewards, samples, matched }, gone.signal)
}
