/**
 * Configs of the Python pipeline that this one continues: JSON with snake_case keys. Only a file that has nothing but its keys is
 * read as one; anywhere else a snake_case key is a mistake.
 */
import { didYouMean, InputError } from '../errors/index.js'
import type { RawConfig } from '../train/index.js'
import type { PipelineOptions } from './config.js'

interface SeedName {
  readonly option: keyof PipelineOptions
  /** What it is there, and what becomes of it here where that differs. */
  readonly note: string
}

/** Every key there is, in the order of the original. docs/pipeline.md has this table. */
export const seedNames = {
  model_name: { option: 'modelName', note: 'a name for logs, as there; the model itself is `baseModel`' },
  tokenizer_path: { option: 'tokenizerPath', note: 'a directory with a tokenizer.json; a pickle is refused' },
  device: { option: 'device', note: '`mps` is refused: there is no such device here' },
  sft_data_path: { option: 'sftDataPath', note: '' },
  sft_epochs: { option: 'sftEpochs', note: '' },
  sft_lr: { option: 'sftLr', note: 'was never read there; is honoured here' },
  sft_batch_size: { option: 'sftBatchSize', note: '' },
  reward_data_path: { option: 'rewardDataPath', note: '' },
  reward_epochs: { option: 'rewardEpochs', note: '' },
  reward_lr: { option: 'rewardLr', note: '' },
  reward_batch_size: { option: 'rewardBatchSize', note: '' },
  freeze_reward_backbone: { option: 'freezeRewardBackbone', note: 'freezes the reward model alone, not the policy' },
  ppo_data_path: { option: 'ppoDataPath', note: '' },
  ppo_iterations: { option: 'ppoIterations', note: '' },
  ppo_lr_policy: { option: 'ppoLrPolicy', note: '' },
  ppo_lr_value: { option: 'ppoLrValue', note: '' },
  ppo_batch_size: { option: 'ppoBatchSize', note: 'was never used there; is the rollout here' },
  ppo_mini_batch_size: { option: 'ppoMiniBatchSize', note: 'was never used there; is the optimiser step here' },
  ppo_epochs: { option: 'ppoEpochs', note: '' },
  max_length: { option: 'maxLength', note: 'bounds PPO too' },
  save_dir: { option: 'saveDir', note: 'relative to the file, as every path in a config' },
  save_interval: { option: 'saveInterval', note: 'of checkpoints in every stage too' },
  log_level: { option: 'logLevel', note: 'in small letters; INFO and the like are taken as well' },
} as const satisfies Record<string, SeedName>

const known = Object.keys(seedNames)
/** The one key that both spell the same says nothing of which it is. */
const telling = known.filter(name => name.includes('_'))

/** Whether what a JSON file says is a config of the Python pipeline. */
export function isSeedConfig(file: string, values: RawConfig): boolean {
  const names = Object.keys(values)
  return file.endsWith('.json') && names.some(name => telling.includes(name)) && !names.some(isCamel)
}

const isCamel = (name: string): boolean => /[A-Z]/.test(name)

/**
 * The same config by our names.
 */
export function fromSeedConfig(file: string, values: RawConfig): RawConfig {
  const unknown = Object.keys(values).filter(name => !known.includes(name))
  if (unknown.length > 0)
    throw new InputError(
      unknown.map(name => `${file}: there is no option "${name}"${didYouMean(name, known)}`).join('\n'),
      {
        remedy: 'Other options need a config of `whetstone pipeline`: see docs/pipeline.md.',
      },
    )
  return Object.fromEntries(
    Object.entries(values).map(([name, value]) => {
      const { option } = seedNames[name as keyof typeof seedNames]
      return [option, option === 'logLevel' && typeof value === 'string' ? value.toLowerCase() : value]
    }),
  )
}
