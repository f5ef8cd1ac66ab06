/** Rewards whose local models wait for their turn on a device that they share with others. */
import type { ResolvedRewardModels, RewardEngineOptions, RewardModel, RewardSource } from '../reward/index.js'
import type { Resident, Turns } from './model-turns.js'

type ModelRewards = Pick<RewardEngineOptions, 'sources'> & { readonly rewardModel?: ResolvedRewardModels }

/** Whether it is a model that can leave its device to others. */
export function isResident(model: unknown): model is Resident {
  return typeof model === 'object' && model !== null && 'offload' in model && 'reload' in model
}

/** The models that rewards ask. */
export function modelsOfRewards({ rewardModel, sources = [] }: ModelRewards): unknown[] {
  return [...listed(rewardModel), ...sources].map(({ model }) => model)
}

/** The same rewards, each of whose models is asked when it is its turn. */
export function rewardsInTurns<R extends ModelRewards>(rewards: R, turns: Turns): R {
  const { rewardModel, sources } = rewards
  return {
    ...rewards,
    ...(rewardModel ? { rewardModel: modelsInTurns(rewardModel, turns) } : {}),
    ...(sources ? { sources: sources.map(source => sourceInTurns(source, turns)) } : {}),
  }
}

function sourceInTurns(source: RewardSource, turns: Turns): RewardSource {
  const { model } = source
  if (!isResident(model)) return source
  return { ...source, score: (items, options) => turns.use(model, () => source.score(items, options)) }
}

function modelsInTurns(given: ResolvedRewardModels, turns: Turns): ResolvedRewardModels {
  const wrap = (entry: RewardModel): RewardModel => ({
    ...entry,
    model: {
      ...(entry.model.maxLength === undefined ? {} : { maxLength: entry.model.maxLength }),
      ...(entry.model.capabilities ? { capabilities: entry.model.capabilities } : {}),
      score: (sequences, options) => {
        const work = (): ReturnType<typeof entry.model.score> => entry.model.score(sequences, options)
        return isResident(entry.model) ? turns.use(entry.model, work) : work()
      },
    },
  })
  if (Array.isArray(given)) return given.map(wrap)
  if (isSingle(given)) return wrap(given)
  return Object.fromEntries(
    Object.entries(given as Record<string, RewardModel>).map(([name, one]) => [name, wrap(one)]),
  )
}

function listed(given: ModelRewards['rewardModel']): RewardModel[] {
  if (given === undefined) return []
  if (Array.isArray(given)) return given
  return isSingle(given) ? [given] : Object.values(given as Readonly<Record<string, RewardModel>>)
}

function isSingle(given: ResolvedRewardModels): given is RewardModel {
  return 'model' in given && 'tokenizer' in given
}
