// Written by test/docs/option-tables.test.ts from the schemas. Do not change it by hand.
/** Options of the pipeline as a person writes them, with what each is. */
import type { z } from 'zod'
import type { pipelineSchema } from './config.js'

type PipelineWritten = z.input<typeof pipelineSchema>
/** options of the pipeline */
export interface PipelineInput {
  /** name of the model in logs @defaultValue `"model"` */
  modelName?: PipelineWritten['modelName']
  /** the model to start from: a model directory, or {family, size, seed} for random weights (needs tokenizerPath) */
  baseModel?: PipelineWritten['baseModel']
  /** a directory with a tokenizer.json (default: the one of the base model; if both exist they must be equal) */
  tokenizerPath?: PipelineWritten['tokenizerPath']
  /** chat template of all stages; a section can override it: auto (the one of the tokenizer), none (text prompts are used as written), chatml or a Jinja file @defaultValue `"auto"` */
  chatTemplate?: PipelineWritten['chatTemplate']
  /** an existing SFT model; the SFT stage is skipped */
  sftModel?: PipelineWritten['sftModel']
  /** an existing reward model; the reward stage is skipped */
  rewardModel?: PipelineWritten['rewardModel']
  /** device of all stages; a section can override it: cpu, cuda, cuda:N, or auto (a GPU if the machine has one) @defaultValue `"auto"` */
  device?: PipelineWritten['device']
  /** ranks: processes of this machine that compute together. all: one for each GPU; N: the first N GPUs, or N processes that share the cores of a CPU; a list: these GPUs (default: one process); for all stages, a section can override it */
  devices?: PipelineWritten['devices']
  /** seed of all random numbers @defaultValue `0` */
  seed?: PipelineWritten['seed']
  /** conversations for SFT @defaultValue `"data/sft_data.jsonl"` */
  sftDataPath?: PipelineWritten['sftDataPath']
  /** passes over the conversations @defaultValue `3` */
  sftEpochs?: PipelineWritten['sftEpochs']
  /** peak learning rate of SFT @defaultValue `0.00005` */
  sftLr?: PipelineWritten['sftLr']
  /** conversations per optimiser step @defaultValue `32` */
  sftBatchSize?: PipelineWritten['sftBatchSize']
  /** preference data: pairs of answers @defaultValue `"data/preference_data.jsonl"` */
  rewardDataPath?: PipelineWritten['rewardDataPath']
  /** passes over the pairs; also for dpo, cdpo, ipo and kto @defaultValue `5` */
  rewardEpochs?: PipelineWritten['rewardEpochs']
  /** peak learning rate of the reward model @defaultValue `0.00005` */
  rewardLr?: PipelineWritten['rewardLr']
  /** pairs per optimiser step; also for dpo, cdpo, ipo and kto @defaultValue `32` */
  rewardBatchSize?: PipelineWritten['rewardBatchSize']
  /** train only the head of the reward model @defaultValue `false` */
  freezeRewardBackbone?: PipelineWritten['freezeRewardBackbone']
  /** algorithm of the last stage: ppo or another with rewards such as grpo; or dpo, cdpo, ipo, kto without a reward model @defaultValue `"ppo"` */
  algorithm?: PipelineWritten['algorithm']
  /** prompts of the last stage @defaultValue `"data/ppo_prompts.jsonl"` */
  ppoDataPath?: PipelineWritten['ppoDataPath']
  /** number of iterations; each is a rollout and its updates @defaultValue `1000` */
  ppoIterations?: PipelineWritten['ppoIterations']
  /** peak learning rate of the policy, for every algorithm @defaultValue `0.00001` */
  ppoLrPolicy?: PipelineWritten['ppoLrPolicy']
  /** peak learning rate of the critic, if the algorithm has one @defaultValue `0.0003` */
  ppoLrValue?: PipelineWritten['ppoLrValue']
  /** prompts per rollout @defaultValue `32` */
  ppoBatchSize?: PipelineWritten['ppoBatchSize']
  /** samples per optimiser step, at most the whole rollout (default of algorithms other than ppo: the whole rollout) @defaultValue `8` */
  ppoMiniBatchSize?: PipelineWritten['ppoMiniBatchSize']
  /** passes over the samples of each rollout (default of algorithms other than ppo: their preset) @defaultValue `4` */
  ppoEpochs?: PipelineWritten['ppoEpochs']
  /** most tokens of a sequence (prompt and answer) in every stage (default: 512, or the context of the model if it is shorter) @defaultValue `512` */
  maxLength?: PipelineWritten['maxLength']
  /** share of the rows of each stage to hold out; they decide which model is the best one @defaultValue `0.05` */
  validationShare?: PipelineWritten['validationShare']
  /** output directory @defaultValue `"rlhf_outputs"` */
  saveDir?: PipelineWritten['saveDir']
  /** optimiser steps between checkpoints, and iterations between exported policies (ppo/iteration_000100) @defaultValue `100` */
  saveInterval?: PipelineWritten['saveInterval']
  /** prompts to answer before and after each stage (default: the first four held-out prompts of the last stage) */
  samplePrompts?: PipelineWritten['samplePrompts']
  /** loggers, which get metrics, samples and files: tensorboard, mlflow, or files with your own (defineLogger); [] for none @defaultValue `["tensorboard"]` */
  loggers?: PipelineWritten['loggers']
  /** log verbosity of the terminal and of logs/pipeline.log @defaultValue `"info"` */
  logLevel?: PipelineWritten['logLevel']
  /** more options of SFT, such as optimizer: {schedule}; see docs/sft.md @defaultValue `{}` */
  sft?: PipelineWritten['sft']
  /** more options of the reward model, such as margin; see docs/reward-model.md @defaultValue `{}` */
  reward?: PipelineWritten['reward']
  /** more options of the last stage, such as gamma and klController; see docs/pipeline.md @defaultValue `{}` */
  ppo?: PipelineWritten['ppo']
}
