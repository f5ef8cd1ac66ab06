// Written by test/docs/option-tables.test.ts from the schemas. Do not change it by hand.
/** Options of the trainings as a person writes them, with what each is. */
import type { z } from 'zod'
import type { preferenceSchema } from './preference/config.js'
import type { rewardModelSchema } from './reward-model/config.js'
import type { rlSchema } from './rl/config.js'
import type { sftSchema } from './sft/config.js'

type SftWritten = z.input<typeof sftSchema>
/** options of supervised fine-tuning */
export interface SftPlain {
  /** device of all models: cpu, cuda, cuda:N, or auto (a GPU if the machine has one) @defaultValue `"auto"` */
  device?: SftWritten['device']
  /** ranks: processes of this machine that compute together. all: one for each GPU; N: the first N GPUs, or N processes that share the cores of a CPU; a list: these GPUs (default: one process) */
  devices?: SftWritten['devices']
  /** dtype of the weights (default: float32 on a CPU; bfloat16 on a GPU, with float32 master weights) */
  dtype?: SftWritten['dtype']
  /** dtype of the residual stream; float32 with bfloat16 weights halves the difference between the log-probabilities of engine and trainer and costs a few percent of speed (Hopper GPUs only; default: dtype of the weights) */
  residualDtype?: SftWritten['residualDtype']
  /** train a new LoRA adapter and freeze the weights of the model */
  lora?: SftInputLora | undefined
  /** directory of an existing LoRA adapter in PEFT format; training continues from it */
  adapter?: SftWritten['adapter']
  /** keep only the input of each layer for the backward pass and recompute the rest: less memory, slower @defaultValue `false` */
  gradientCheckpointing?: SftWritten['gradientCheckpointing']
  /** most tokens of one forward pass; gradients accumulate over as many passes as a batch needs; affects memory use, not results */
  tokenBudget?: SftWritten['tokenBudget']
  /** part of a vision tower that is not trained. tower: its blocks; merger: the mergers behind them; all: both, and each image is computed once for the whole run (default: all of the tower is trained, except with an adapter) */
  freezeVision?: SftWritten['freezeVision']
  /** most patches of images and videos in one pass of the vision tower (default: 4096 on a CPU, 16384 on a GPU); affects memory use, not results */
  patchBudget?: SftWritten['patchBudget']
  /** how to read images and videos */
  media?: SftInputMedia | undefined
  /** share of rows to hold out, at least one row; a hash of each row decides, so the choice never changes @defaultValue `0` */
  validationShare?: SftWritten['validationShare']
  /** most tokens of an example (default: the context of the model) */
  maxLength?: SftWritten['maxLength']
  /** what to do with longer examples: truncate or drop; the run counts both (default: truncate conversations, drop others) */
  overlong?: SftWritten['overlong']
  /** template of a prompt, such as "Question: {prompt}"; {name} inserts another column, {{ and }} are braces */
  promptTemplate?: SftWritten['promptTemplate']
  /** system message for conversations without one */
  systemPrompt?: SftWritten['systemPrompt']
  /** auto: a text prompt becomes a user message if the tokenizer has a chat template; none: text prompts are used as written; chatml or a Jinja file: a template that replaces the one of the tokenizer @defaultValue `"auto"` */
  chatTemplate?: SftWritten['chatTemplate']
  /** most bad rows before the run stops; bad rows are skipped and listed @defaultValue `0` */
  maxBadRows?: SftWritten['maxBadRows']
  /** shuffle the rows for each epoch; false: keep the order of the files @defaultValue `true` */
  shuffle?: SftWritten['shuffle']
  /** passes over the data @defaultValue `1` */
  epochs?: SftWritten['epochs']
  /** rows per optimiser step; tokenBudget splits them to fit into memory @defaultValue `32` */
  batchSize?: SftWritten['batchSize']
  /** optimiser steps between evaluations on validation data (default: once an epoch) */
  evalSteps?: SftWritten['evalSteps']
  /** seed of all random numbers @defaultValue `0` */
  seed?: SftWritten['seed']
  /** stop after this many optimiser steps */
  maxSteps?: SftWritten['maxSteps']
  /** optimiser steps between checkpoints @defaultValue `100` */
  saveSteps?: SftWritten['saveSteps']
  /** models that a LoRA run writes. models: the adapter, and a model with the adapter merged into it; adapters: the adapter alone, a few megabytes @defaultValue `"models"` */
  keep?: SftWritten['keep']
  /** number of latest checkpoints to keep @defaultValue `2` */
  keepCheckpoints?: SftWritten['keepCheckpoints']
  /** loggers, which get metrics, samples and files: tensorboard, mlflow, or files with your own (defineLogger); [] for none @defaultValue `["tensorboard"]` */
  loggers?: SftWritten['loggers']
  /** trained tokens of a conversation: those of the assistant, or all @defaultValue `"assistant"` */
  trainOn?: SftWritten['trainOn']
  /** on: pack rows of unequal length without padding; affects speed, not results @defaultValue `"on"` */
  packing?: SftWritten['packing']
  /** learning rate, schedule and AdamW options */
  optimizer?: SftInputOptimizer | undefined
}

/** options of supervised fine-tuning */
export interface SftInput extends SftPlain {
  /** the model to train: a Hugging Face model directory, or an id of the Hub: org/name */
  model: SftWritten['model']
  /** training data: a file or a glob pattern, a source with settings, or a list of these */
  data: SftWritten['data']
  /** files of held-out rows */
  validationData?: SftWritten['validationData']
  /** run directory: logs, checkpoints and exported models */
  output: SftWritten['output']
}

type SftWrittenLora = NonNullable<SftWritten['lora']>
/** train a new LoRA adapter and freeze the weights of the model */
export interface SftInputLora {
  /** LoRA rank: the inner dimension of both adapter matrices @defaultValue `16` */
  rank?: SftWrittenLora['rank']
  /** the adapter scale is alpha / rank @defaultValue `32` */
  alpha?: SftWrittenLora['alpha']
  /** dropout of the adapter input during training @defaultValue `0` */
  dropout?: SftWrittenLora['dropout']
  /** the projections that get an adapter @defaultValue `["q_proj","k_proj","v_proj","o_proj","gate_proj","up_proj","down_proj"]` */
  targets?: SftWrittenLora['targets']
}

type SftWrittenMedia = NonNullable<SftWritten['media']>
/** how to read images and videos */
export interface SftInputMedia {
  /** fewest pixels of an image; smaller images are enlarged (default: the limit in the model directory) */
  minPixels?: SftWrittenMedia['minPixels']
  /** most pixels of an image; larger images are shrunk and have fewer tokens (default: the limit in the model directory) */
  maxPixels?: SftWrittenMedia['maxPixels']
  /** fewest pixels of a video frame; for Qwen3-VL: of all frames together */
  videoMinPixels?: SftWrittenMedia['videoMinPixels']
  /** most pixels of a video frame; for Qwen3-VL: of all frames together */
  videoMaxPixels?: SftWrittenMedia['videoMaxPixels']
  /** http and https URLs of images and videos. refused: a bad row; public: fetch, but never from private networks @defaultValue `"refused"` */
  urls?: SftWrittenMedia['urls']
  /** the program that reads video files (default: ffmpeg on the PATH) */
  ffmpeg?: SftWrittenMedia['ffmpeg']
}

type SftWrittenOptimizer = NonNullable<SftWritten['optimizer']>
/** learning rate, schedule and AdamW options */
export interface SftInputOptimizer {
  /** peak learning rate @defaultValue `0.00002` */
  lr?: SftWrittenOptimizer['lr']
  /** learning rate after warm-up: constant, or linear or cosine decay to minLrRatio @defaultValue `"constant"` */
  schedule?: SftWrittenOptimizer['schedule']
  /** steps of linear warm-up from 0 (default: from warmupRatio) */
  warmupSteps?: SftWrittenOptimizer['warmupSteps']
  /** steps of warm-up as a share of all steps @defaultValue `0` */
  warmupRatio?: SftWrittenOptimizer['warmupRatio']
  /** final learning rate as a share of lr @defaultValue `0` */
  minLrRatio?: SftWrittenOptimizer['minLrRatio']
  /** betas of AdamW @defaultValue `[0.9,0.999]` */
  betas?: SftWrittenOptimizer['betas']
  /** epsilon of AdamW @defaultValue `1e-8` */
  eps?: SftWrittenOptimizer['eps']
  /** weight decay of AdamW; norms and biases have none @defaultValue `0` */
  weightDecay?: SftWrittenOptimizer['weightDecay']
  /** initial float32 master weights of 16-bit weights. dither: a random value that rounds to the weight, so that small updates have an effect from the first step; exact: the weight @defaultValue `"dither"` */
  masters?: SftWrittenOptimizer['masters']
  /** gradient clipping: the largest global norm; null: no clipping @defaultValue `1` */
  maxGradNorm?: SftWrittenOptimizer['maxGradNorm']
  /** divide the state of the optimiser (moments and float32 master weights) over the ranks (ZeRO-1); affects memory use, not results @defaultValue `false` */
  shard?: SftWrittenOptimizer['shard']
}

type RewardModelWritten = z.input<typeof rewardModelSchema>
/** options of reward models */
export interface RewardModelPlain {
  /** device of all models: cpu, cuda, cuda:N, or auto (a GPU if the machine has one) @defaultValue `"auto"` */
  device?: RewardModelWritten['device']
  /** ranks: processes of this machine that compute together. all: one for each GPU; N: the first N GPUs, or N processes that share the cores of a CPU; a list: these GPUs (default: one process) */
  devices?: RewardModelWritten['devices']
  /** dtype of the weights (default: float32 on a CPU; bfloat16 on a GPU, with float32 master weights) */
  dtype?: RewardModelWritten['dtype']
  /** dtype of the residual stream; float32 with bfloat16 weights halves the difference between the log-probabilities of engine and trainer and costs a few percent of speed (Hopper GPUs only; default: dtype of the weights) */
  residualDtype?: RewardModelWritten['residualDtype']
  /** train a new LoRA adapter and freeze the weights of the model */
  lora?: SftInputLora | undefined
  /** directory of an existing LoRA adapter in PEFT format; training continues from it */
  adapter?: RewardModelWritten['adapter']
  /** keep only the input of each layer for the backward pass and recompute the rest: less memory, slower @defaultValue `false` */
  gradientCheckpointing?: RewardModelWritten['gradientCheckpointing']
  /** most tokens of one forward pass; gradients accumulate over as many passes as a batch needs; affects memory use, not results */
  tokenBudget?: RewardModelWritten['tokenBudget']
  /** part of a vision tower that is not trained. tower: its blocks; merger: the mergers behind them; all: both, and each image is computed once for the whole run (default: all of the tower is trained, except with an adapter) */
  freezeVision?: RewardModelWritten['freezeVision']
  /** most patches of images and videos in one pass of the vision tower (default: 4096 on a CPU, 16384 on a GPU); affects memory use, not results */
  patchBudget?: RewardModelWritten['patchBudget']
  /** how to read images and videos */
  media?: SftInputMedia | undefined
  /** share of rows to hold out, at least one row; a hash of each row decides, so the choice never changes @defaultValue `0` */
  validationShare?: RewardModelWritten['validationShare']
  /** most tokens of an example (default: the context of the model) */
  maxLength?: RewardModelWritten['maxLength']
  /** what to do with longer examples: truncate or drop; the run counts both (default: truncate conversations, drop others) */
  overlong?: RewardModelWritten['overlong']
  /** template of a prompt, such as "Question: {prompt}"; {name} inserts another column, {{ and }} are braces */
  promptTemplate?: RewardModelWritten['promptTemplate']
  /** system message for conversations without one */
  systemPrompt?: RewardModelWritten['systemPrompt']
  /** auto: a text prompt becomes a user message if the tokenizer has a chat template; none: text prompts are used as written; chatml or a Jinja file: a template that replaces the one of the tokenizer @defaultValue `"auto"` */
  chatTemplate?: RewardModelWritten['chatTemplate']
  /** most bad rows before the run stops; bad rows are skipped and listed @defaultValue `0` */
  maxBadRows?: RewardModelWritten['maxBadRows']
  /** shuffle the rows for each epoch; false: keep the order of the files @defaultValue `true` */
  shuffle?: RewardModelWritten['shuffle']
  /** passes over the data @defaultValue `1` */
  epochs?: RewardModelWritten['epochs']
  /** rows per optimiser step; tokenBudget splits them to fit into memory @defaultValue `32` */
  batchSize?: RewardModelWritten['batchSize']
  /** optimiser steps between evaluations on validation data (default: once an epoch) */
  evalSteps?: RewardModelWritten['evalSteps']
  /** seed of all random numbers @defaultValue `0` */
  seed?: RewardModelWritten['seed']
  /** stop after this many optimiser steps */
  maxSteps?: RewardModelWritten['maxSteps']
  /** optimiser steps between checkpoints @defaultValue `100` */
  saveSteps?: RewardModelWritten['saveSteps']
  /** models that a LoRA run writes. models: the adapter, and a model with the adapter merged into it; adapters: the adapter alone, a few megabytes @defaultValue `"models"` */
  keep?: RewardModelWritten['keep']
  /** number of latest checkpoints to keep @defaultValue `2` */
  keepCheckpoints?: RewardModelWritten['keepCheckpoints']
  /** loggers, which get metrics, samples and files: tensorboard, mlflow, or files with your own (defineLogger); [] for none @defaultValue `["tensorboard"]` */
  loggers?: RewardModelWritten['loggers']
  /** loss of pairs: ranking, or a file with your own (defineLoss) @defaultValue `"ranking"` */
  loss?: RewardModelWritten['loss']
  /** options of your own loss */
  lossOptions?: RewardModelWritten['lossOptions']
  /** wanted difference between the scores of a pair @defaultValue `0` */
  margin?: RewardModelWritten['margin']
  /** weight of the ranking term, which uses the margin @defaultValue `1` */
  rankingWeight?: RewardModelWritten['rankingWeight']
  /** weight of the contrastive term: cross-entropy over scores / temperature @defaultValue `0` */
  contrastiveWeight?: RewardModelWritten['contrastiveWeight']
  /** temperature of the contrastive term @defaultValue `1` */
  temperature?: RewardModelWritten['temperature']
  /** weight of the penalty (chosen + rejected)², which keeps scores near 0 @defaultValue `0` */
  centerCoef?: RewardModelWritten['centerCoef']
  /** train only the head @defaultValue `false` */
  freezeBackbone?: RewardModelWritten['freezeBackbone']
  /** learning rate, schedule and AdamW options */
  optimizer?: RewardModelInputOptimizer | undefined
}

/** options of reward models */
export interface RewardModelInput extends RewardModelPlain {
  /** a language model (it gets a new reward head), or a reward model to train further */
  model: RewardModelWritten['model']
  /** training data: a file or a glob pattern, a source with settings, or a list of these */
  data: RewardModelWritten['data']
  /** files of held-out rows */
  validationData?: RewardModelWritten['validationData']
  /** run directory: logs, checkpoints and exported models */
  output: RewardModelWritten['output']
}

type RewardModelWrittenOptimizer = NonNullable<RewardModelWritten['optimizer']>
/** learning rate, schedule and AdamW options */
export interface RewardModelInputOptimizer {
  /** peak learning rate @defaultValue `0.00001` */
  lr?: RewardModelWrittenOptimizer['lr']
  /** learning rate after warm-up: constant, or linear or cosine decay to minLrRatio @defaultValue `"constant"` */
  schedule?: RewardModelWrittenOptimizer['schedule']
  /** steps of linear warm-up from 0 (default: from warmupRatio) */
  warmupSteps?: RewardModelWrittenOptimizer['warmupSteps']
  /** steps of warm-up as a share of all steps @defaultValue `0` */
  warmupRatio?: RewardModelWrittenOptimizer['warmupRatio']
  /** final learning rate as a share of lr @defaultValue `0` */
  minLrRatio?: RewardModelWrittenOptimizer['minLrRatio']
  /** betas of AdamW @defaultValue `[0.9,0.999]` */
  betas?: RewardModelWrittenOptimizer['betas']
  /** epsilon of AdamW @defaultValue `1e-8` */
  eps?: RewardModelWrittenOptimizer['eps']
  /** weight decay of AdamW; norms and biases have none @defaultValue `0` */
  weightDecay?: RewardModelWrittenOptimizer['weightDecay']
  /** initial float32 master weights of 16-bit weights. dither: a random value that rounds to the weight, so that small updates have an effect from the first step; exact: the weight @defaultValue `"dither"` */
  masters?: RewardModelWrittenOptimizer['masters']
  /** gradient clipping: the largest global norm; null: no clipping @defaultValue `1` */
  maxGradNorm?: RewardModelWrittenOptimizer['maxGradNorm']
  /** divide the state of the optimiser (moments and float32 master weights) over the ranks (ZeRO-1); affects memory use, not results @defaultValue `false` */
  shard?: RewardModelWrittenOptimizer['shard']
}

type PreferenceWritten = z.input<typeof preferenceSchema>
/** options of trainings on preferences */
export interface PreferencePlain {
  /** device of all models: cpu, cuda, cuda:N, or auto (a GPU if the machine has one) @defaultValue `"auto"` */
  device?: PreferenceWritten['device']
  /** ranks: processes of this machine that compute together. all: one for each GPU; N: the first N GPUs, or N processes that share the cores of a CPU; a list: these GPUs (default: one process) */
  devices?: PreferenceWritten['devices']
  /** dtype of the weights (default: float32 on a CPU; bfloat16 on a GPU, with float32 master weights) */
  dtype?: PreferenceWritten['dtype']
  /** dtype of the residual stream; float32 with bfloat16 weights halves the difference between the log-probabilities of engine and trainer and costs a few percent of speed (Hopper GPUs only; default: dtype of the weights) */
  residualDtype?: PreferenceWritten['residualDtype']
  /** train a new LoRA adapter and freeze the weights of the model */
  lora?: SftInputLora | undefined
  /** directory of an existing LoRA adapter in PEFT format; training continues from it */
  adapter?: PreferenceWritten['adapter']
  /** keep only the input of each layer for the backward pass and recompute the rest: less memory, slower @defaultValue `false` */
  gradientCheckpointing?: PreferenceWritten['gradientCheckpointing']
  /** most tokens of one forward pass; gradients accumulate over as many passes as a batch needs; affects memory use, not results */
  tokenBudget?: PreferenceWritten['tokenBudget']
  /** part of a vision tower that is not trained. tower: its blocks; merger: the mergers behind them; all: both, and each image is computed once for the whole run (default: all of the tower is trained, except with an adapter) */
  freezeVision?: PreferenceWritten['freezeVision']
  /** most patches of images and videos in one pass of the vision tower (default: 4096 on a CPU, 16384 on a GPU); affects memory use, not results */
  patchBudget?: PreferenceWritten['patchBudget']
  /** how to read images and videos */
  media?: SftInputMedia | undefined
  /** share of rows to hold out, at least one row; a hash of each row decides, so the choice never changes @defaultValue `0` */
  validationShare?: PreferenceWritten['validationShare']
  /** most tokens of an example (default: the context of the model) */
  maxLength?: PreferenceWritten['maxLength']
  /** what to do with longer examples: truncate or drop; the run counts both (default: truncate conversations, drop others) */
  overlong?: PreferenceWritten['overlong']
  /** template of a prompt, such as "Question: {prompt}"; {name} inserts another column, {{ and }} are braces */
  promptTemplate?: PreferenceWritten['promptTemplate']
  /** system message for conversations without one */
  systemPrompt?: PreferenceWritten['systemPrompt']
  /** auto: a text prompt becomes a user message if the tokenizer has a chat template; none: text prompts are used as written; chatml or a Jinja file: a template that replaces the one of the tokenizer @defaultValue `"auto"` */
  chatTemplate?: PreferenceWritten['chatTemplate']
  /** most bad rows before the run stops; bad rows are skipped and listed @defaultValue `0` */
  maxBadRows?: PreferenceWritten['maxBadRows']
  /** shuffle the rows for each epoch; false: keep the order of the files @defaultValue `true` */
  shuffle?: PreferenceWritten['shuffle']
  /** passes over the data @defaultValue `1` */
  epochs?: PreferenceWritten['epochs']
  /** rows per optimiser step; tokenBudget splits them to fit into memory @defaultValue `32` */
  batchSize?: PreferenceWritten['batchSize']
  /** optimiser steps between evaluations on validation data (default: once an epoch) */
  evalSteps?: PreferenceWritten['evalSteps']
  /** seed of all random numbers @defaultValue `0` */
  seed?: PreferenceWritten['seed']
  /** stop after this many optimiser steps */
  maxSteps?: PreferenceWritten['maxSteps']
  /** optimiser steps between checkpoints @defaultValue `100` */
  saveSteps?: PreferenceWritten['saveSteps']
  /** models that a LoRA run writes. models: the adapter, and a model with the adapter merged into it; adapters: the adapter alone, a few megabytes @defaultValue `"models"` */
  keep?: PreferenceWritten['keep']
  /** number of latest checkpoints to keep @defaultValue `2` */
  keepCheckpoints?: PreferenceWritten['keepCheckpoints']
  /** loggers, which get metrics, samples and files: tensorboard, mlflow, or files with your own (defineLogger); [] for none @defaultValue `["tensorboard"]` */
  loggers?: PreferenceWritten['loggers']
  /** dpo; cdpo for pairs with noisy labels; ipo, which does not overfit clear pairs; kto for responses with a label each; or a file with your own (defineLoss) @defaultValue `"dpo"` */
  loss?: PreferenceWritten['loss']
  /** options of your own loss */
  lossOptions?: PreferenceWritten['lossOptions']
  /** strength of the penalty for moving away from the reference @defaultValue `0.1` */
  beta?: PreferenceWritten['beta']
  /** dpo and cdpo: assumed share of pairs with a wrong label (default 0; cdpo needs a value above 0) */
  labelSmoothing?: PreferenceWritten['labelSmoothing']
  /** ipo: log-probability of a response as the mean over its tokens (as in the paper and in TRL) or as the sum (default mean) */
  ipoLogprobs?: PreferenceWritten['ipoLogprobs']
  /** kto: loss weight of desirable responses (default 1) */
  desirableWeight?: PreferenceWritten['desirableWeight']
  /** kto: loss weight of undesirable responses (default 1) */
  undesirableWeight?: PreferenceWritten['undesirableWeight']
  /** learning rate, schedule and AdamW options */
  optimizer?: PreferenceInputOptimizer | undefined
}

/** options of trainings on preferences */
export interface PreferenceInput extends PreferencePlain {
  /** the model to train: a Hugging Face model directory, or an id of the Hub: org/name */
  model: PreferenceWritten['model']
  /** training data: a file or a glob pattern, a source with settings, or a list of these */
  data: PreferenceWritten['data']
  /** files of held-out rows */
  validationData?: PreferenceWritten['validationData']
  /** run directory: logs, checkpoints and exported models */
  output: PreferenceWritten['output']
  /** the reference model (default: the model before training) */
  reference?: PreferenceWritten['reference']
}

type PreferenceWrittenOptimizer = NonNullable<PreferenceWritten['optimizer']>
/** learning rate, schedule and AdamW options */
export interface PreferenceInputOptimizer {
  /** peak learning rate @defaultValue `0.000001` */
  lr?: PreferenceWrittenOptimizer['lr']
  /** learning rate after warm-up: constant, or linear or cosine decay to minLrRatio @defaultValue `"constant"` */
  schedule?: PreferenceWrittenOptimizer['schedule']
  /** steps of linear warm-up from 0 (default: from warmupRatio) */
  warmupSteps?: PreferenceWrittenOptimizer['warmupSteps']
  /** steps of warm-up as a share of all steps @defaultValue `0` */
  warmupRatio?: PreferenceWrittenOptimizer['warmupRatio']
  /** final learning rate as a share of lr @defaultValue `0` */
  minLrRatio?: PreferenceWrittenOptimizer['minLrRatio']
  /** betas of AdamW @defaultValue `[0.9,0.999]` */
  betas?: PreferenceWrittenOptimizer['betas']
  /** epsilon of AdamW @defaultValue `1e-8` */
  eps?: PreferenceWrittenOptimizer['eps']
  /** weight decay of AdamW; norms and biases have none @defaultValue `0` */
  weightDecay?: PreferenceWrittenOptimizer['weightDecay']
  /** initial float32 master weights of 16-bit weights. dither: a random value that rounds to the weight, so that small updates have an effect from the first step; exact: the weight @defaultValue `"dither"` */
  masters?: PreferenceWrittenOptimizer['masters']
  /** gradient clipping: the largest global norm; null: no clipping @defaultValue `1` */
  maxGradNorm?: PreferenceWrittenOptimizer['maxGradNorm']
  /** divide the state of the optimiser (moments and float32 master weights) over the ranks (ZeRO-1); affects memory use, not results @defaultValue `false` */
  shard?: PreferenceWrittenOptimizer['shard']
}

type RlWritten = z.input<typeof rlSchema>
/** options of reinforcement learning */
export interface RlPlain {
  /** device of all models: cpu, cuda, cuda:N, or auto (a GPU if the machine has one) @defaultValue `"auto"` */
  device?: RlWritten['device']
  /** ranks: processes of this machine that compute together. all: one for each GPU; N: the first N GPUs, or N processes that share the cores of a CPU; a list: these GPUs (default: one process) */
  devices?: RlWritten['devices']
  /** dtype of the weights (default: float32 on a CPU; bfloat16 on a GPU, with float32 master weights) */
  dtype?: RlWritten['dtype']
  /** dtype of the residual stream; float32 with bfloat16 weights halves the difference between the log-probabilities of engine and trainer and costs a few percent of speed (Hopper GPUs only; default: dtype of the weights) */
  residualDtype?: RlWritten['residualDtype']
  /** train a new LoRA adapter and freeze the weights of the model */
  lora?: SftInputLora | undefined
  /** directory of an existing LoRA adapter in PEFT format; training continues from it */
  adapter?: RlWritten['adapter']
  /** keep only the input of each layer for the backward pass and recompute the rest: less memory, slower @defaultValue `false` */
  gradientCheckpointing?: RlWritten['gradientCheckpointing']
  /** most tokens of one forward pass; gradients accumulate over as many passes as a batch needs; affects memory use, not results */
  tokenBudget?: RlWritten['tokenBudget']
  /** part of a vision tower that is not trained. tower: its blocks; merger: the mergers behind them; all: both, and each image is computed once for the whole run (default: all of the tower is trained, except with an adapter) */
  freezeVision?: RlWritten['freezeVision']
  /** most patches of images and videos in one pass of the vision tower (default: 4096 on a CPU, 16384 on a GPU); affects memory use, not results */
  patchBudget?: RlWritten['patchBudget']
  /** how to read images and videos */
  media?: SftInputMedia | undefined
  /** seed of all random numbers @defaultValue `0` */
  seed?: RlWritten['seed']
  /** stop after this many optimiser steps */
  maxSteps?: RlWritten['maxSteps']
  /** optimiser steps between checkpoints @defaultValue `100` */
  saveSteps?: RlWritten['saveSteps']
  /** models that a LoRA run writes. models: the adapter, and a model with the adapter merged into it; adapters: the adapter alone, a few megabytes @defaultValue `"models"` */
  keep?: RlWritten['keep']
  /** number of latest checkpoints to keep @defaultValue `2` */
  keepCheckpoints?: RlWritten['keepCheckpoints']
  /** loggers, which get metrics, samples and files: tensorboard, mlflow, or files with your own (defineLogger); [] for none @defaultValue `["tensorboard"]` */
  loggers?: RlWritten['loggers']
  /** share of rows to hold out, at least one row; a hash of each row decides, so the choice never changes @defaultValue `0` */
  validationShare?: RlWritten['validationShare']
  /** template of a prompt, such as "Question: {prompt}"; {name} inserts another column, {{ and }} are braces */
  promptTemplate?: RlWritten['promptTemplate']
  /** system message for conversations without one */
  systemPrompt?: RlWritten['systemPrompt']
  /** auto: a text prompt becomes a user message if the tokenizer has a chat template; none: text prompts are used as written; chatml or a Jinja file: a template that replaces the one of the tokenizer @defaultValue `"auto"` */
  chatTemplate?: RlWritten['chatTemplate']
  /** most bad rows before the run stops; bad rows are skipped and listed @defaultValue `0` */
  maxBadRows?: RlWritten['maxBadRows']
  /** shuffle the rows for each epoch; false: keep the order of the files @defaultValue `true` */
  shuffle?: RlWritten['shuffle']
  /** limits of episodes */
  episode?: RlInputEpisode | undefined
  /** minutes without an answer of a reward server, or of loading a reward file, before the run stops (resume continues it) @defaultValue `10` */
  rewardPatienceMinutes?: RlWritten['rewardPatienceMinutes']
  /** processes per reward file (.ts, .js); they share the calls @defaultValue `1` */
  rewardWorkers?: RlWritten['rewardWorkers']
  /** number of iterations; each is a rollout and its updates (default: from epochs) */
  iterations?: RlWritten['iterations']
  /** passes over the prompts; not used if iterations is set @defaultValue `1` */
  epochs?: RlWritten['epochs']
  /** prompts per rollout @defaultValue `32` */
  rolloutBatchSize?: RlWritten['rolloutBatchSize']
  /** samples per optimiser step (default: the whole rollout) */
  trainBatchSize?: RlWritten['trainBatchSize']
  /** passes over the samples of each rollout @defaultValue `1` */
  updateEpochs?: RlWritten['updateEpochs']
  /** sampling temperature; 0: greedy decoding @defaultValue `1` */
  temperature?: RlWritten['temperature']
  /** nucleus sampling: sample from the most likely tokens that together have this probability @defaultValue `1` */
  topP?: RlWritten['topP']
  /** sample from this many most likely tokens; -1: all @defaultValue `-1` */
  topK?: RlWritten['topK']
  /** most tokens of a response @defaultValue `1024` */
  maxNewTokens?: RlWritten['maxNewTokens']
  /** fewest tokens of a response: no end-of-sequence token before @defaultValue `1` */
  minNewTokens?: RlWritten['minNewTokens']
  /** do not stop at the end-of-sequence tokens of the model @defaultValue `false` */
  ignoreEos?: RlWritten['ignoreEos']
  /** stop texts: a response ends with the first one it contains @defaultValue `[]` */
  stop?: RlWritten['stop']
  /** structured output: { kind: regex, pattern }, { kind: json-schema, schema } or { kind: ebnf, grammar }; vLLM and SGLang only */
  structured?: RlWritten['structured']
  /** remove special tokens from the texts of responses @defaultValue `false` */
  skipSpecialTokens?: RlWritten['skipSpecialTokens']
  /** sample the first token at firstTokenTemperature (FIRE) @defaultValue `false` */
  useFire?: RlWritten['useFire']
  /** temperature of the first token with useFire @defaultValue `10` */
  firstTokenTemperature?: RlWritten['firstTokenTemperature']
  /** samples per prompt @defaultValue `1` */
  nSamplesPerPrompt?: RlWritten['nSamplesPerPrompt']
  /** most tokens of a prompt (default: the context of the model minus maxNewTokens) */
  promptMaxLen?: RlWritten['promptMaxLen']
  /** what to do with longer prompts: left (cut the start of the user text), right (cut its end) or reject (skip the prompt); text of the chat template is never cut @defaultValue `"left"` */
  promptTruncation?: RlWritten['promptTruncation']
  /** a response of an engine with placeholder tokens that no image or video belongs to: drop (leave out the sample) or mask (keep its ids, and leave these tokens out of attention and loss) @defaultValue `"drop"` */
  mediaRepair?: RlWritten['mediaRepair']
  /** sequences per scoring call; affects memory use, not results @defaultValue `64` */
  microRolloutBatchSize?: RlWritten['microRolloutBatchSize']
  /** pack sequences without padding for scoring; affects speed, not results @defaultValue `true` */
  packingSamples?: RlWritten['packingSamples']
  /** advantage estimator: the name of one, or a file with your own (defineEstimator) @defaultValue `"gae"` */
  advantageEstimator?: RlWritten['advantageEstimator']
  /** options of your own estimator */
  estimatorOptions?: RlWritten['estimatorOptions']
  /** epsilon added to the standard deviation that group_norm, grpo and cpgd divide by @defaultValue `1e-9` */
  groupNormEps?: RlWritten['groupNormEps']
  /** discount factor per sampled token @defaultValue `1` */
  gamma?: RlWritten['gamma']
  /** discount factor per turn of an episode, beside gamma @defaultValue `1` */
  turnGamma?: RlWritten['turnGamma']
  /** GiGPO: weight of comparing turns that acted in the same state (stateKey); 0: none @defaultValue `1` */
  stepWeight?: RlWritten['stepWeight']
  /** lambda of GAE @defaultValue `0.95` */
  lambd?: RlWritten['lambd']
  /** per-token KL estimator: k1, k2 or k3 (default k1; k3 with useKlLoss) */
  klEstimator?: RlWritten['klEstimator']
  /** add KL to the loss instead of the rewards @defaultValue `false` */
  useKlLoss?: RlWritten['useKlLoss']
  /** subtract a penalty from the reward of responses that end close to maxNewTokens @defaultValue `false` */
  overlongBuffer?: RlWritten['overlongBuffer']
  /** tokens of the penalty zone, which ends at maxNewTokens @defaultValue `50` */
  overlongBufferLen?: RlWritten['overlongBufferLen']
  /** penalty of a response with maxNewTokens tokens; it grows linearly over the zone @defaultValue `1` */
  overlongBufferPenaltyFactor?: RlWritten['overlongBufferPenaltyFactor']
  /** divide shaped rewards by their running standard deviation @defaultValue `false` */
  rewardRunningNorm?: RlWritten['rewardRunningNorm']
  /** subtract the running mean of the rewards first @defaultValue `false` */
  rewardRunningNormMinusMean?: RlWritten['rewardRunningNormMinusMean']
  /** clip shaped rewards to plus or minus this; 0: no clipping @defaultValue `0` */
  rewardClip?: RlWritten['rewardClip']
  /** whiten advantages: mean 0 and standard deviation 1 over all tokens @defaultValue `false` */
  advantagesNorm?: RlWritten['advantagesNorm']
  /** clip advantages to plus or minus this; 0: no clipping @defaultValue `0` */
  advantageClip?: RlWritten['advantageClip']
  /** replace groups with equal rewards by groups of new prompts (DAPO) @defaultValue `false` */
  dynamicSampling?: RlWritten['dynamicSampling']
  /** most rounds of dynamicSampling per rollout @defaultValue `3` */
  maxResampleRounds?: RlWritten['maxResampleRounds']
  /** share of tokens, those of highest entropy, that have a policy loss; 0: all tokens @defaultValue `0` */
  highEntropyTokenRatio?: RlWritten['highEntropyTokenRatio']
  /** save device memory: only one model is on the device at a time, and the engine sleeps while models score and train @defaultValue `false` */
  enableEngineSleep?: RlWritten['enableEngineSleep']
  /** how many iterations ahead a rollout may start while earlier ones train; the run drops older samples. Needs servers and tisCap @defaultValue `0` */
  maxStaleness?: RlWritten['maxStaleness']
  /** coefficient of the KL to the reference: fixed (coef), or adaptive (coef, target, horizon) @defaultValue `{"kind":"fixed","coef":0.01}` */
  klController?: RlWritten['klController']
  /** policy loss: the name of one, or a file with your own (defineLoss) @defaultValue `"ppo"` */
  loss?: RlWritten['loss']
  /** options of your own loss */
  lossOptions?: RlWritten['lossOptions']
  /** lower clipping bound: the ratio is clipped to at least 1 - clipLow (default 0.2) */
  clipLow?: RlWritten['clipLow']
  /** upper clipping bound: the ratio is clipped to at most 1 + clipHigh (default 0.2) */
  clipHigh?: RlWritten['clipHigh']
  /** dual clip: largest ratio of tokens with a negative advantage (ppo) */
  dualClip?: RlWritten['dualClip']
  /** coefficient of the drift from the old policy (cpg) */
  driftCoef?: RlWritten['driftCoef']
  /** truncated importance sampling: weight each token by its trainer probability / engine probability, at most this */
  tisCap?: RlWritten['tisCap']
  /** how token losses are aggregated to one number @defaultValue `"seq-mean-token-mean"` */
  aggregation?: RlWritten['aggregation']
  /** coefficient of the entropy bonus @defaultValue `0` */
  entropyCoef?: RlWritten['entropyCoef']
  /** stop the updates of an iteration when the KL between the new policy and the sampling policy is above this */
  targetKl?: RlWritten['targetKl']
  /** optimiser of the policy */
  optimizer?: RlInputOptimizer | undefined
  /** decay of an exponential moving average of the policy weights; the run exports it as ema_model */
  emaDecay?: RlWritten['emaDecay']
  /** evaluation on held-out prompts (validationData or validationShare) */
  evaluation?: RlInputEvaluation | undefined
  /** iterations between exports of the policy (iteration_000100, ...); the run keeps all of them */
  exportEvery?: RlWritten['exportEvery']
  /** iterations between logged samples @defaultValue `10` */
  sampleEvery?: RlWritten['sampleEvery']
  /** write samples of each iteration, with all numbers of their tokens, to trajectories/ in the run directory @defaultValue `false` */
  saveTrajectories?: RlWritten['saveTrajectories']
  /** with saveTrajectories: number of samples of each iteration to write @defaultValue `10` */
  numTrajectoriesToSave?: RlWritten['numTrajectoriesToSave']
}

/** options of reinforcement learning */
export interface RlInput extends RlPlain {
  /** preset of options, or a file with your own (defineAlgorithm); the run prints the options it sets, and the config can override them @defaultValue `"grpo"` */
  algorithm?: RlWritten['algorithm']
  /** the model to train: a Hugging Face model directory, or an id of the Hub: org/name */
  model: RlWritten['model']
  /** run directory: logs, checkpoints and exported models */
  output: RlWritten['output']
  /** prompts: a file or a glob pattern, a source with settings, or a list of these */
  data: RlWritten['data']
  /** files of held-out rows */
  validationData?: RlWritten['validationData']
  /** a module that exports a reward (.ts, .js, .mjs), a file that lists reward sources (.yaml, .json), a reward model (a directory or an id of the Hub), or a rule (exact-match, numeric-answer, format); or a list of these, whose rewards are added; not needed where an environment gives rewards */
  rewards?: RlWritten['rewards']
  /** environment of the episodes: a file that exports one as default (defineEnvironment, toolEnvironment, agentEnvironment), {type: openenv, url, rewards} or {type: agent, command} */
  environment?: RlWritten['environment']
  /** tools that the model may call before it answers: calculator, files that export a tool or a list of tools as default (defineTool), or {mcp: {command}} and {mcp: {url}} for the tools of an MCP server */
  tools?: RlWritten['tools']
  /** the reference: the model that KL is measured to. A directory, initial (the model before training), adapter-off (the LoRA model without its adapter) or none (default: initial if the KL coefficient is above 0) */
  reference?: RlWritten['reference']
  /** the engine that generates the samples */
  generator?: RlInputGenerator | undefined
  /** options of the critic, which gae needs */
  critic?: RlInputCritic | undefined
  /** supervised data that every update also trains on */
  ptx?: RlInputPtx | undefined
}

type RlWrittenEpisode = NonNullable<RlWritten['episode']>
/** limits of episodes */
export interface RlInputEpisode {
  /** most turns of the policy in an episode @defaultValue `16` */
  turns?: RlWrittenEpisode['turns']
  /** most tool calls in an episode @defaultValue `64` */
  toolCalls?: RlWrittenEpisode['toolCalls']
  /** most turns in a row with only invalid calls: not JSON, an unknown tool, a wrong input @defaultValue `4` */
  invalidCalls?: RlWrittenEpisode['invalidCalls']
  /** most sampled tokens of one turn; after a cut turn the episode continues (default: maxNewTokens) */
  turnTokens?: RlWrittenEpisode['turnTokens']
  /** time limit of an episode in seconds: sessions, steps and tools; time in the engine does not count @defaultValue `600` */
  seconds?: RlWrittenEpisode['seconds']
  /** how often an episode restarts in a new session after an error of the environment @defaultValue `2` */
  retries?: RlWrittenEpisode['retries']
  /** most episodes at a time @defaultValue `64` */
  concurrency?: RlWrittenEpisode['concurrency']
  /** time limit to open and start a session, in seconds @defaultValue `60` */
  openSeconds?: RlWrittenEpisode['openSeconds']
  /** time limit of one step of a session in seconds @defaultValue `60` */
  stepSeconds?: RlWrittenEpisode['stepSeconds']
  /** what to do if the chat template rewrites earlier turns: exact (refuse the run), append (keep turns as they were sampled) or template (start a new segment with the rewritten conversation) @defaultValue `"exact"` */
  history?: RlWrittenEpisode['history']
  /** format of tool calls; auto: the one of the chat template @defaultValue `"auto"` */
  toolFormat?: RlWrittenEpisode['toolFormat']
  /** the only reward of an episode that a limit ended (default: it is scored like any other) */
  truncatedReward?: RlWrittenEpisode['truncatedReward']
}

type RlWrittenGenerator = NonNullable<RlWritten['generator']>
/** the engine that generates the samples */
export interface RlInputGenerator {
  /** which engine generates: local (in this process), servers of vLLM or SGLang, or a file with your own generator (defineGenerator) @defaultValue `"local"` */
  type?: RlWrittenGenerator['type']
  /** options of your own generator */
  options?: RlWrittenGenerator['options']
  /** URLs of servers that serve the model (default: the run starts one server and stops it at its end) */
  urls?: RlWrittenGenerator['urls']
  /** name of the environment variable that holds the API key of the servers */
  apiKeyEnv?: RlWrittenGenerator['apiKeyEnv']
  /** name of the model on the servers (default: the first model they list) */
  servedModelName?: RlWrittenGenerator['servedModelName']
  /** most samples that generate at the same time: per server (default 256), or in the local engine (default: on a GPU the whole rollout, between 256 and 1024 as memory allows; on a CPU 128) */
  maxInFlight?: RlWrittenGenerator['maxInFlight']
  /** minutes before a request is cancelled @defaultValue `30` */
  requestMinutes?: RlWrittenGenerator['requestMinutes']
  /** minutes without any reachable server before the run stops (resume continues it) @defaultValue `10` */
  patienceMinutes?: RlWrittenGenerator['patienceMinutes']
  /** what the run sends to servers: directory (a whole checkpoint), adapter (the LoRA adapter only), or auto (the adapter if the run trains one) @defaultValue `"auto"` */
  weights?: RlWrittenGenerator['weights']
  /** directory where the run writes weights for the servers; the servers must be able to read it (default: weights in the run directory) */
  weightsDirectory?: RlWrittenGenerator['weightsDirectory']
  /** path of weightsDirectory on the machines of the servers, if it differs */
  serverWeightsDirectory?: RlWrittenGenerator['serverWeightsDirectory']
  /** largest allowed mean difference between the log-probabilities of servers and trainer (default: what rounding explains) */
  tolerance?: RlWrittenGenerator['tolerance']
  /** program of the server that the run starts (default: the one on the PATH) */
  command?: RlWrittenGenerator['command']
  /** more flags for the server that the run starts @defaultValue `[]` */
  flags?: RlWrittenGenerator['flags']
}

type RlWrittenOptimizer = NonNullable<RlWritten['optimizer']>
/** optimiser of the policy */
export interface RlInputOptimizer {
  /** peak learning rate @defaultValue `0.000001` */
  lr?: RlWrittenOptimizer['lr']
  /** learning rate after warm-up: constant, or linear or cosine decay to minLrRatio @defaultValue `"constant"` */
  schedule?: RlWrittenOptimizer['schedule']
  /** steps of linear warm-up from 0 (default: from warmupRatio) */
  warmupSteps?: RlWrittenOptimizer['warmupSteps']
  /** steps of warm-up as a share of all steps @defaultValue `0` */
  warmupRatio?: RlWrittenOptimizer['warmupRatio']
  /** final learning rate as a share of lr @defaultValue `0` */
  minLrRatio?: RlWrittenOptimizer['minLrRatio']
  /** betas of AdamW @defaultValue `[0.9,0.999]` */
  betas?: RlWrittenOptimizer['betas']
  /** epsilon of AdamW @defaultValue `1e-8` */
  eps?: RlWrittenOptimizer['eps']
  /** weight decay of AdamW; norms and biases have none @defaultValue `0` */
  weightDecay?: RlWrittenOptimizer['weightDecay']
  /** initial float32 master weights of 16-bit weights. dither: a random value that rounds to the weight, so that small updates have an effect from the first step; exact: the weight @defaultValue `"dither"` */
  masters?: RlWrittenOptimizer['masters']
  /** gradient clipping: the largest global norm; null: no clipping @defaultValue `1` */
  maxGradNorm?: RlWrittenOptimizer['maxGradNorm']
  /** divide the state of the optimiser (moments and float32 master weights) over the ranks (ZeRO-1); affects memory use, not results @defaultValue `false` */
  shard?: RlWrittenOptimizer['shard']
}

type RlWrittenCritic = NonNullable<RlWritten['critic']>
/** options of the critic, which gae needs */
export interface RlPlainCritic {
  /** optimiser of the critic */
  optimizer?: RlInputCriticOptimizer | undefined
  /** value clipping: the largest change of a value since the rollout; null: no clipping @defaultValue `0.2` */
  valueClip?: RlWrittenCritic['valueClip']
  /** iterations at the start that train only the critic @defaultValue `0` */
  warmupIterations?: RlWrittenCritic['warmupIterations']
}

/** options of the critic, which gae needs */
export interface RlInputCritic extends RlPlainCritic {
  /** initial critic (default: the trained model with a new value head of zeros) */
  model?: RlWrittenCritic['model']
}

type RlWrittenCriticOptimizer = NonNullable<RlWrittenCritic['optimizer']>
/** optimiser of the critic */
export interface RlInputCriticOptimizer {
  /** peak learning rate @defaultValue `0.00001` */
  lr?: RlWrittenCriticOptimizer['lr']
  /** learning rate after warm-up: constant, or linear or cosine decay to minLrRatio @defaultValue `"constant"` */
  schedule?: RlWrittenCriticOptimizer['schedule']
  /** steps of linear warm-up from 0 (default: from warmupRatio) */
  warmupSteps?: RlWrittenCriticOptimizer['warmupSteps']
  /** steps of warm-up as a share of all steps @defaultValue `0` */
  warmupRatio?: RlWrittenCriticOptimizer['warmupRatio']
  /** final learning rate as a share of lr @defaultValue `0` */
  minLrRatio?: RlWrittenCriticOptimizer['minLrRatio']
  /** betas of AdamW @defaultValue `[0.9,0.999]` */
  betas?: RlWrittenCriticOptimizer['betas']
  /** epsilon of AdamW @defaultValue `1e-8` */
  eps?: RlWrittenCriticOptimizer['eps']
  /** weight decay of AdamW; norms and biases have none @defaultValue `0` */
  weightDecay?: RlWrittenCriticOptimizer['weightDecay']
  /** initial float32 master weights of 16-bit weights. dither: a random value that rounds to the weight, so that small updates have an effect from the first step; exact: the weight @defaultValue `"dither"` */
  masters?: RlWrittenCriticOptimizer['masters']
  /** gradient clipping: the largest global norm; null: no clipping @defaultValue `1` */
  maxGradNorm?: RlWrittenCriticOptimizer['maxGradNorm']
  /** divide the state of the optimiser (moments and float32 master weights) over the ranks (ZeRO-1); affects memory use, not results @defaultValue `false` */
  shard?: RlWrittenCriticOptimizer['shard']
}

type RlWrittenPtx = NonNullable<RlWritten['ptx']>
/** supervised data that every update also trains on */
export interface RlPlainPtx {
  /** weight of the supervised loss @defaultValue `0.1` */
  coef?: RlWrittenPtx['coef']
  /** rows per optimiser step @defaultValue `16` */
  batchSize?: RlWrittenPtx['batchSize']
  /** most tokens of an example (default: the context of the model) */
  maxLength?: RlWrittenPtx['maxLength']
}

/** supervised data that every update also trains on */
export interface RlInputPtx extends RlPlainPtx {
  /** supervised data: conversations or texts, as for SFT */
  data: RlWrittenPtx['data']
}

type RlWrittenEvaluation = NonNullable<RlWritten['evaluation']>
/** evaluation on held-out prompts (validationData or validationShare) */
export interface RlInputEvaluation {
  /** iterations between evaluations; the run also evaluates at its start and its end @defaultValue `10` */
  every?: RlWrittenEvaluation['every']
  /** sampling temperature; 0: greedy decoding @defaultValue `0` */
  temperature?: RlWrittenEvaluation['temperature']
  /** samples per held-out prompt @defaultValue `1` */
  nSamplesPerPrompt?: RlWrittenEvaluation['nSamplesPerPrompt']
  /** most held-out prompts to use: the first ones @defaultValue `256` */
  maxPrompts?: RlWrittenEvaluation['maxPrompts']
}
