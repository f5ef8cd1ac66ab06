/** The forms in which local reward models are given: with a tokenizer of their own, or bare; one, a list, or by name. */
import type { Tokenizer } from '../text/index.js'
import { RewardConfigError } from './errors.js'
import type { ModelRewardOptions, RewardScorer } from './model-source.js'

/** A reward model with its tokenizer; its name comes from where it stands. */
export type RewardModel = Omit<ModelRewardOptions, 'name' | 'policyTokenizer'>

type OneOrMany<T> = T | readonly T[] | Readonly<Record<string, T>>

/** A bare model reads the ids that the policy sampled. `null`: there is none. */
export type RewardModels = OneOrMany<RewardModel | RewardScorer> | null

/** With the tokenizer of each. */
export type ResolvedRewardModels = OneOrMany<RewardModel>

/** The same with the tokenizer of each: a bare model has the policy's. What is no model is refused by the place where it stands. */
export function rewardModelsOf(
  given: RewardModels | undefined,
  policyTokenizer: Tokenizer | undefined,
): ResolvedRewardModels | undefined {
  if (given === undefined || given === null) return undefined
  const withTokenizer = (one: unknown, place: string): RewardModel => {
    const model = isModel(one) ? { model: one, tokenizer: policyTokenizer } : one
    if (!isObject(model) || !('model' in model) || !isModel(model.model))
      throw new RewardConfigError(
        `${place}: expected a reward model, such as await LocalModel.load(directory, { role: 'reward' }), or { model, tokenizer }`,
      )
    refuseOtherRole(model.model, place)
    if (!model.tokenizer)
      throw new RewardConfigError(
        `${place}: a model without a tokenizer uses the tokenizer of the policy, and there is none; give { model, tokenizer }`,
      )
    return model as unknown as RewardModel
  }
  if (Array.isArray(given)) return given.map((one, i) => withTokenizer(one, `rewardModel ${i + 1}`))
  if (!isObject(given) || isModel(given) || 'model' in given || 'tokenizer' in given)
    return withTokenizer(given, 'rewardModel')
  return Object.fromEntries(
    Object.entries(given).map(([name, one]) => [name, withTokenizer(one, `rewardModel.${name}`)]),
  )
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null
}

function isModel(value: unknown): value is RewardScorer {
  return isObject(value) && typeof value.score === 'function'
}

/** Models of other roles score tokens, not sequences. */
function refuseOtherRole(model: RewardScorer, place: string): void {
  const role = 'role' in model ? model.role : undefined
  if (role !== undefined && role !== 'reward')
    throw new RewardConfigError(`${place}: expected a model with the role reward, and its role is ${String(role)}`)
}
