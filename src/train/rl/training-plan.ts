/** What a reinforcement learning run will open. */
import type { PlannedData, PlannedUse, TrainingPlan } from '../checks/plan.js'
import { type RlConfig, referenceOf, weightsFor } from './config.js'

export function planRl(config: RlConfig): TrainingPlan {
  const { model, lora, adapter, critic, emaDecay, ptx, nSamplesPerPrompt, rolloutBatchSize } = config
  const { device, devices, dtype, chatTemplate, gradientCheckpointing, tokenBudget, promptMaxLen, maxNewTokens, seed } =
    config
  const frozen = { role: 'language', trained: 'nothing', computes: 'yes' } as const
  const reference = referenceOf(config)
  const others: PlannedUse[] = []
  if (typeof reference === 'object')
    others.push({ ...frozen, ...reference, name: 'the reference', option: config.reference ? 'reference' : 'model' })
  if (critic) {
    const directory = critic.model ?? model
    others.push({
      name: 'the critic',
      option: 'critic.model',
      directory,
      role: 'value',
      trained: 'weights',
      shard: critic.optimizer.shard,
      computes: 'yes',
    })
  }
  if (emaDecay !== undefined)
    others.push({ ...frozen, name: 'the average', option: 'model', directory: model, dtype: 'float32', computes: 'no' })
  const data: PlannedData[] = [
    { option: 'data', kind: 'prompts', spec: config.data, options: config as PlannedData['options'] },
  ]
  if (ptx)
    data.push({
      option: 'ptx.data',
      kind: 'conversations',
      spec: ptx.data,
      options: { maxBadRows: config.maxBadRows, chatTemplate, ...(ptx.maxLength && { maxLength: ptx.maxLength }) },
    })
  const samples = rolloutBatchSize * nSamplesPerPrompt
  return {
    models: [
      {
        name: 'the policy',
        option: 'model',
        directory: model,
        role: 'language',
        trained: lora || adapter !== undefined ? 'adapter' : 'weights',
        adapter: adapter ?? lora,
        shard: config.optimizer.shard,
        computes: 'yes',
      },
      ...others,
    ],
    data,
    ...(config.rewards === undefined ? {} : { rewards: config.rewards }),
    device,
    devices,
    dtype,
    chatTemplate,
    gradientCheckpointing,
    freezeVision: config.freezeVision,
    patchBudget: config.patchBudget,
    tokenBudget,
    sequences: config.trainBatchSize ?? samples,
    generation: {
      samples,
      samplesPerPrompt: nSamplesPerPrompt,
      promptMaxLen,
      promptTruncation: config.promptTruncation,
      maxNewTokens,
      maxInFlight: config.generator.maxInFlight,
      engine: config.generator.type === 'local' ? 'here' : 'elsewhere',
      cache: config.enableEngineSleep ? 'freed' : 'kept',
    },
    ...(config.generator.type === 'vllm' || config.generator.type === 'sglang'
      ? { servers: { config: config.generator, weights: weightsFor(config) } }
      : {}),
    seed,
  }
}
