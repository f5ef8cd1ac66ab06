/** The codes of errors. A code stays what it is when a message changes; docs/errors.md is this table. */
export const errorCodes = {
  WHETSTONE_ERROR: 'an error that has no code of its own',
  WHETSTONE_INPUT: 'an input cannot be used: a file, a directory, an argument',
  WHETSTONE_CONFIG: 'options of a config are wrong; `problems` has each of them',
  WHETSTONE_DATA: 'rows of a data set cannot be used; `problems` has the first ones',
  WHETSTONE_SAMPLES: 'samples lack what advantages need; `problems` has each of them',
  WHETSTONE_MODEL: 'a model directory cannot be used',
  WHETSTONE_SAFETENSORS: 'a safetensors file is damaged, or is not one',
  WHETSTONE_GGUF: 'a GGUF file cannot be read or written',
  WHETSTONE_HUB: 'a model or a data set cannot be fetched from the Hub, or pushed to it',
  WHETSTONE_TOKENIZER: 'a tokenizer cannot be used',
  WHETSTONE_CHAT_TEMPLATE: 'a chat template is wrong, or cannot render messages',
  WHETSTONE_FILE_WRITE: 'a file cannot be written; `errno` is the code of the operating system, such as ENOSPC',
  WHETSTONE_RUN: 'a run directory cannot be used as asked: another process has it, or its options have changed',
  WHETSTONE_JOURNAL: 'a record of a journal is damaged',
  WHETSTONE_JOURNAL_VERSION: 'a journal was written in another version of its format',
  WHETSTONE_TRAINING: 'a training cannot go on, for example because it diverged',
  WHETSTONE_NON_FINITE: 'an output or a gradient of a model is not finite',
  WHETSTONE_MACHINE: 'this machine lacks what a config asks for, such as a GPU',
  WHETSTONE_DEVICE: 'there is no such device',
  WHETSTONE_BRIDGE: 'the native bridge is not built, or does not load',
  WHETSTONE_SETUP: 'a step of the installation failed',
  WHETSTONE_REWARD: 'a reward file or its sources are wrong',
  WHETSTONE_REWARD_STOPPED: 'a reward failed, and onRewardFailure is stop',
  WHETSTONE_REWARDS_LOST: 'no sample of a rollout got a reward',
  WHETSTONE_ENGINE: 'an inference server failed',
  WHETSTONE_ENGINE_LOST: 'no inference server answers any more',
  WHETSTONE_LAUNCH: 'an inference server could not be started',
  WHETSTONE_MLFLOW: 'an MLflow server refused, or could not be reached',
} as const satisfies Readonly<Record<string, string>>

/** A stable name for a kind of error. */
export type ErrorCode = keyof typeof errorCodes
