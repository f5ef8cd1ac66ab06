// Written by test/docs/option-tables.test.ts from the schemas. Do not change it by hand.
/** Options of `experience` as a person writes them, with what each is. */
import type { z } from 'zod'
import type { experienceSchema } from './experience-config.js'

type ExperienceWritten = z.input<typeof experienceSchema>
/** options of experience */
export interface ExperiencePlain {
  /** a LoRA adapter of the actor in PEFT format */
  adapter?: ExperienceWritten['adapter']
  /** device of all models: cpu, cuda, cuda:N, or auto (a GPU if the machine has one) @defaultValue `"auto"` */
  device?: ExperienceWritten['device']
  /** ranks: processes of this machine that compute together. all: one for each GPU; N: the first N GPUs, or N processes that share the cores of a CPU; a list: these GPUs (default: one process) */
  devices?: ExperienceWritten['devices']
  /** template of a prompt, such as "Question: {prompt}"; {name} inserts another column, {{ and }} are braces */
  promptTemplate?: ExperienceWritten['promptTemplate']
  /** system message for conversations without one */
  systemPrompt?: ExperienceWritten['systemPrompt']
  /** auto: a text prompt becomes a user message if the tokenizer has a chat template; none: text prompts are used as written; chatml or a Jinja file: a template that replaces the one of the tokenizer @defaultValue `"auto"` */
  chatTemplate?: ExperienceWritten['chatTemplate']
  /** most bad rows before the run stops; bad rows are skipped and listed @defaultValue `0` */
  maxBadRows?: ExperienceWritten['maxBadRows']
  /** minutes without an answer of a reward server, or of loading a reward file, before the run stops (resume continues it) @defaultValue `10` */
  rewardPatienceMinutes?: ExperienceWritten['rewardPatienceMinutes']
  /** processes per reward file (.ts, .js); they share the calls @defaultValue `1` */
  rewardWorkers?: ExperienceWritten['rewardWorkers']
  /** prompts per batch; advantages are normalised over a batch @defaultValue `128` */
  rolloutBatchSize?: ExperienceWritten['rolloutBatchSize']
  /** how to read images and videos */
  media?: ExperienceInputMedia | undefined
  /** coefficient of the KL to the reference: fixed (coef), or adaptive (coef, target, horizon) */
  klController?: ExperienceWritten['klController']
  /** sampling temperature; 0: greedy decoding @defaultValue `1` */
  temperature?: ExperienceWritten['temperature']
  /** nucleus sampling: sample from the most likely tokens that together have this probability @defaultValue `1` */
  topP?: ExperienceWritten['topP']
  /** sample from this many most likely tokens; -1: all @defaultValue `-1` */
  topK?: ExperienceWritten['topK']
  /** most tokens of a response @defaultValue `1024` */
  maxNewTokens?: ExperienceWritten['maxNewTokens']
  /** fewest tokens of a response: no end-of-sequence token before @defaultValue `1` */
  minNewTokens?: ExperienceWritten['minNewTokens']
  /** do not stop at the end-of-sequence tokens of the model @defaultValue `false` */
  ignoreEos?: ExperienceWritten['ignoreEos']
  /** stop texts: a response ends with the first one it contains @defaultValue `[]` */
  stop?: ExperienceWritten['stop']
  /** structured output: { kind: regex, pattern }, { kind: json-schema, schema } or { kind: ebnf, grammar }; vLLM and SGLang only */
  structured?: ExperienceWritten['structured']
  /** remove special tokens from the texts of responses @defaultValue `false` */
  skipSpecialTokens?: ExperienceWritten['skipSpecialTokens']
  /** sample the first token at firstTokenTemperature (FIRE) @defaultValue `false` */
  useFire?: ExperienceWritten['useFire']
  /** temperature of the first token with useFire @defaultValue `10` */
  firstTokenTemperature?: ExperienceWritten['firstTokenTemperature']
  /** sampling seed; a sample depends only on it, its prompt id and its index @defaultValue `0` */
  seed?: ExperienceWritten['seed']
  /** samples per prompt @defaultValue `1` */
  nSamplesPerPrompt?: ExperienceWritten['nSamplesPerPrompt']
  /** most tokens of a prompt (default: the context of the model minus maxNewTokens) */
  promptMaxLen?: ExperienceWritten['promptMaxLen']
  /** what to do with longer prompts: left (cut the start of the user text), right (cut its end) or reject (skip the prompt); text of the chat template is never cut @defaultValue `"left"` */
  promptTruncation?: ExperienceWritten['promptTruncation']
  /** a response of an engine with placeholder tokens that no image or video belongs to: drop (leave out the sample) or mask (keep its ids, and leave these tokens out of attention and loss) @defaultValue `"drop"` */
  mediaRepair?: ExperienceWritten['mediaRepair']
  /** sequences per scoring call; affects memory use, not results @defaultValue `64` */
  microRolloutBatchSize?: ExperienceWritten['microRolloutBatchSize']
  /** pack sequences without padding for scoring; affects speed, not results @defaultValue `true` */
  packingSamples?: ExperienceWritten['packingSamples']
  /** advantage estimator: the name of one, or a file with your own (defineEstimator) @defaultValue `"gae"` */
  advantageEstimator?: ExperienceWritten['advantageEstimator']
  /** options of your own estimator */
  estimatorOptions?: ExperienceWritten['estimatorOptions']
  /** epsilon added to the standard deviation that group_norm, grpo and cpgd divide by @defaultValue `1e-9` */
  groupNormEps?: ExperienceWritten['groupNormEps']
  /** discount factor per sampled token @defaultValue `1` */
  gamma?: ExperienceWritten['gamma']
  /** discount factor per turn of an episode, beside gamma @defaultValue `1` */
  turnGamma?: ExperienceWritten['turnGamma']
  /** GiGPO: weight of comparing turns that acted in the same state (stateKey); 0: none @defaultValue `1` */
  stepWeight?: ExperienceWritten['stepWeight']
  /** lambda of GAE @defaultValue `0.95` */
  lambd?: ExperienceWritten['lambd']
  /** per-token KL estimator: k1, k2 or k3 (default k1; k3 with useKlLoss) */
  klEstimator?: ExperienceWritten['klEstimator']
  /** add KL to the loss instead of the rewards @defaultValue `false` */
  useKlLoss?: ExperienceWritten['useKlLoss']
  /** subtract a penalty from the reward of responses that end close to maxNewTokens @defaultValue `false` */
  overlongBuffer?: ExperienceWritten['overlongBuffer']
  /** tokens of the penalty zone, which ends at maxNewTokens @defaultValue `50` */
  overlongBufferLen?: ExperienceWritten['overlongBufferLen']
  /** penalty of a response with maxNewTokens tokens; it grows linearly over the zone @defaultValue `1` */
  overlongBufferPenaltyFactor?: ExperienceWritten['overlongBufferPenaltyFactor']
  /** divide shaped rewards by their running standard deviation @defaultValue `false` */
  rewardRunningNorm?: ExperienceWritten['rewardRunningNorm']
  /** subtract the running mean of the rewards first @defaultValue `false` */
  rewardRunningNormMinusMean?: ExperienceWritten['rewardRunningNormMinusMean']
  /** clip shaped rewards to plus or minus this; 0: no clipping @defaultValue `0` */
  rewardClip?: ExperienceWritten['rewardClip']
  /** whiten advantages: mean 0 and standard deviation 1 over all tokens @defaultValue `false` */
  advantagesNorm?: ExperienceWritten['advantagesNorm']
  /** clip advantages to plus or minus this; 0: no clipping @defaultValue `0` */
  advantageClip?: ExperienceWritten['advantageClip']
  /** replace groups with equal rewards by groups of new prompts (DAPO) @defaultValue `false` */
  dynamicSampling?: ExperienceWritten['dynamicSampling']
  /** most rounds of dynamicSampling per rollout @defaultValue `3` */
  maxResampleRounds?: ExperienceWritten['maxResampleRounds']
  /** share of tokens, those of highest entropy, that have a policy loss; 0: all tokens @defaultValue `0` */
  highEntropyTokenRatio?: ExperienceWritten['highEntropyTokenRatio']
  /** save device memory: only one model is on the device at a time, and the engine sleeps while models score and train @defaultValue `false` */
  enableEngineSleep?: ExperienceWritten['enableEngineSleep']
}

/** options of experience */
export interface ExperienceInput extends ExperiencePlain {
  /** the actor: a Hugging Face model directory, or an id of the Hub: org/name */
  model: ExperienceWritten['model']
  /** the reference: the model that KL is measured to. A directory, or adapter-off (the actor without its adapter) */
  reference?: ExperienceWritten['reference']
  /** the critic, for gae: a directory */
  critic?: ExperienceWritten['critic']
  /** prompts: a file, a glob pattern, a source with settings, or a list of these */
  data: ExperienceWritten['data']
  /** a module that exports a reward (.ts, .js, .mjs), a file that lists reward sources (.yaml, .json), a reward model (a directory or an id of the Hub), or a rule (exact-match, numeric-answer, format); or a list of these, whose rewards are added */
  rewards: ExperienceWritten['rewards']
  /** file for the experiences, one line of JSON each; - for standard output */
  output: ExperienceWritten['output']
  /** the engine that generates: type local, vllm or sglang, and urls of servers */
  generator?: ExperienceInputGenerator | undefined
}

type ExperienceWrittenMedia = NonNullable<ExperienceWritten['media']>
/** how to read images and videos */
export interface ExperienceInputMedia {
  /** fewest pixels of an image; smaller images are enlarged (default: the limit in the model directory) */
  minPixels?: ExperienceWrittenMedia['minPixels']
  /** most pixels of an image; larger images are shrunk and have fewer tokens (default: the limit in the model directory) */
  maxPixels?: ExperienceWrittenMedia['maxPixels']
  /** fewest pixels of a video frame; for Qwen3-VL: of all frames together */
  videoMinPixels?: ExperienceWrittenMedia['videoMinPixels']
  /** most pixels of a video frame; for Qwen3-VL: of all frames together */
  videoMaxPixels?: ExperienceWrittenMedia['videoMaxPixels']
  /** http and https URLs of images and videos. refused: a bad row; public: fetch, but never from private networks @defaultValue `"refused"` */
  urls?: ExperienceWrittenMedia['urls']
  /** the program that reads video files (default: ffmpeg on the PATH) */
  ffmpeg?: ExperienceWrittenMedia['ffmpeg']
}

type ExperienceWrittenGenerator = NonNullable<ExperienceWritten['generator']>
/** the engine that generates: type local, vllm or sglang, and urls of servers */
export interface ExperienceInputGenerator {
  /** which engine generates: local (in this process), servers of vLLM or SGLang, or a file with your own generator (defineGenerator) @defaultValue `"local"` */
  type?: ExperienceWrittenGenerator['type']
  /** options of your own generator */
  options?: ExperienceWrittenGenerator['options']
  /** URLs of servers that serve the model (default: the run starts one server and stops it at its end) */
  urls?: ExperienceWrittenGenerator['urls']
  /** name of the environment variable that holds the API key of the servers */
  apiKeyEnv?: ExperienceWrittenGenerator['apiKeyEnv']
  /** name of the model on the servers (default: the first model they list) */
  servedModelName?: ExperienceWrittenGenerator['servedModelName']
  /** most samples that generate at the same time: per server (default 256), or in the local engine (default: on a GPU the whole rollout, between 256 and 1024 as memory allows; on a CPU 128) */
  maxInFlight?: ExperienceWrittenGenerator['maxInFlight']
  /** minutes before a request is cancelled @defaultValue `30` */
  requestMinutes?: ExperienceWrittenGenerator['requestMinutes']
  /** minutes without any reachable server before the run stops (resume continues it) @defaultValue `10` */
  patienceMinutes?: ExperienceWrittenGenerator['patienceMinutes']
  /** what the run sends to servers: directory (a whole checkpoint), adapter (the LoRA adapter only), or auto (the adapter if the run trains one) @defaultValue `"auto"` */
  weights?: ExperienceWrittenGenerator['weights']
  /** directory where the run writes weights for the servers; the servers must be able to read it (default: weights in the run directory) */
  weightsDirectory?: ExperienceWrittenGenerator['weightsDirectory']
  /** path of weightsDirectory on the machines of the servers, if it differs */
  serverWeightsDirectory?: ExperienceWrittenGenerator['serverWeightsDirectory']
  /** largest allowed mean difference between the log-probabilities of servers and trainer (default: what rounding explains) */
  tolerance?: ExperienceWrittenGenerator['tolerance']
  /** program of the server that the run starts (default: the one on the PATH) */
  command?: ExperienceWrittenGenerator['command']
  /** more flags for the server that the run starts @defaultValue `[]` */
  flags?: ExperienceWrittenGenerator['flags']
}
