/**
 * Configs that are wrong, each with all that a person is told: the file, the option, what was expected, what to do. The dry run
 * says the same as the run, and neither makes anything.
 */
import { writeFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { stringify } from 'yaml'
import { refusals } from './refusals.js'

const { at, said, both } = refusals()

const supervised = { model: 'model', device: 'cpu', data: 'rows.jsonl', output: 'new' }
const pairs = { ...supervised, data: 'pairs.jsonl' }
const rl = { ...supervised, data: 'prompts.jsonl', rewards: 'reward.ts', maxNewTokens: 8 }

type Case = readonly [
  verb: string,
  values: object | string,
  flags: readonly string[],
  message: string | readonly string[],
]

const cases: readonly Case[] = [
  [
    'rl',
    { ...rl, rewards: 'judge.yaml' },
    [],
    'config.yaml: rewards: gone does not exist; expected a Hugging Face model directory',
  ],
  [
    'sft',
    { ...supervised, lerning_rate: 1 },
    [],
    'config.yaml: there is no option "lerning_rate"; use optimizer: { lr }',
  ],
  [
    'sft',
    { ...supervised, learning_rate: 1e-5 },
    [],
    'config.yaml: there is no option "learning_rate"; use optimizer: { lr }',
  ],
  [
    'sft',
    { ...supervised, batch_size: 4 },
    [],
    'config.yaml: there is no option "batch_size"; did you mean batchSize?',
  ],
  [
    'sft',
    { ...supervised, optimizer: { learningRate: 1 } },
    [],
    'config.yaml: there is no option "optimizer.learningRate"; use optimizer: { lr }',
  ],
  [
    'sft',
    { ...supervised, optimizer: { weight_decay: 1 } },
    [],
    'config.yaml: there is no option "optimizer.weight_decay"; did you mean weightDecay?',
  ],
  ['sft', { ...supervised, optimizer: { lr: 'fast' } }, [], 'config.yaml: optimizer.lr: expected a number, got "fast"'],
  [
    'sft',
    { ...supervised, optimizer: { lr: -1e-5 } },
    [],
    'config.yaml: optimizer.lr: expected a number above 0, got -0.00001',
  ],
  [
    'sft',
    { ...supervised, optimizer: { betas: [0.9, 0.99, 0.999] } },
    [],
    'config.yaml: optimizer.betas: expected at most 2 entries, got [0.9,0.99,0.999]',
  ],
  ['sft', { ...supervised, optimizer: 1e-5 }, [], 'config.yaml: optimizer: expected an object of options, got 0.00001'],
  [
    'sft',
    { ...supervised, keepCheckpoints: 0 },
    [],
    'config.yaml: keepCheckpoints: expected a number of at least 1, got 0',
  ],
  ['sft', { ...supervised, epochs: 1.5 }, [], 'config.yaml: epochs: expected an integer, got 1.5'],
  ['sft', { ...supervised, packing: true }, [], 'config.yaml: packing: expected one of on, off, got true'],
  ['sft', { ...supervised, device: 'gpu' }, [], 'config.yaml: device: expected auto, cpu, cuda or cuda:N, got "gpu"'],
  [
    'sft',
    { ...supervised, validationShare: 1 },
    [],
    'config.yaml: validationShare: expected a number of at most 0.9, got 1',
  ],
  [
    'sft',
    { ...supervised, maxLength: 128 },
    [],
    'config.yaml: maxLength: 128 tokens do not fit into the context of the model (model: 64 tokens); lower maxLength',
  ],
  [
    'sft',
    { ...supervised, lora: {}, adapter: 'adapter' },
    [],
    'config.yaml: adapter: adapter continues an existing adapter and lora makes a new one; give only one of them',
  ],
  [
    'sft',
    { ...supervised, lora: { targets: ['q'] } },
    [],
    'config.yaml: lora.targets.0: expected one of q_proj, k_proj, v_proj, o_proj, gate_proj, up_proj, down_proj, got "q"; did you mean q_proj?',
  ],
  [
    'sft',
    { ...supervised, adapter: 'nowhere' },
    [],
    'config.yaml: adapter: nowhere has no adapter_config.json; expected an adapter in PEFT format',
  ],
  [
    'sft',
    { data: 'rows.jsonl', output: 'new' },
    [],
    'config.yaml: model: missing; the model to train: a Hugging Face model directory, or an id of the Hub: org/name',
  ],
  [
    'sft',
    { ...supervised, model: 'nowhere' },
    [],
    'config.yaml: model: nowhere does not exist; expected a Hugging Face model directory',
  ],
  [
    'sft',
    { ...supervised, model: 'no-config' },
    [],
    'config.yaml: model: no-config has no config.json; expected a Hugging Face model directory',
  ],
  [
    'sft',
    { ...supervised, model: 'misshapen' },
    [],
    [
      'config.yaml: model: misshapen: the weights do not fit config.json',
      '  wrong shape: model.layers.0.mlp.gate_proj.weight is [24, 16], expected [32, 16], model.layers.0.mlp.up_proj.weight is [24, 16], expected [32, 16], model.layers.0.mlp.down_proj.weight is [16, 24], expected [16, 32]',
    ],
  ],
  [
    'sft',
    { ...supervised, model: 'small' },
    [],
    'config.yaml: model: small has a vocabulary of 100, and the tokenizer in small has 2000 tokens; use the tokenizer of the model',
  ],
  [
    'sft',
    { ...supervised, data: 'nowhere.jsonl' },
    [],
    'config.yaml: data: nowhere.jsonl: there is no such file; expected a data file, a folder of a data set, or a glob pattern',
  ],
  [
    'sft',
    { ...supervised, data: 'none/*.jsonl' },
    [],
    'none/*.jsonl: no file matches; check the pattern and its folder',
  ],
  [
    'sft',
    { ...supervised, data: 'prompts.jsonl' },
    [],
    [
      'prompts.jsonl: a bad row',
      '  prompts.jsonl:1: no conversations: expected messages, conversations, a prompt and its completion (also question and answer, instruction and output), or text; the row has prompt: set columns to name them',
      'Fix them, or set maxBadRows to skip up to that many.',
    ],
  ],
  ['sft', { ...supervised, data: 'empty.jsonl' }, [], 'config.yaml: data: no rows in empty.jsonl'],
  [
    'sft',
    { ...supervised, data: 'broken.jsonl' },
    [],
    [
      'broken.jsonl: a bad row',
      '  broken.jsonl:2: not JSON (Unexpected end of JSON input)',
      'Fix them, or set maxBadRows to skip up to that many.',
    ],
  ],
  [
    'sft',
    { ...supervised, data: { path: 'rows.jsonl', wieght: 2 } },
    [],
    'config.yaml: there is no option "data.wieght"; did you mean weight?',
  ],
  ['sft', { ...supervised, data: 5 }, [], 'config.yaml: data: expected text or an object of options or a list, got 5'],
  ['sft', { ...supervised, output: 'file' }, [], 'config.yaml: output: file: it is a file, and a directory is needed'],
  [
    'sft',
    { ...supervised, output: 'file/run' },
    [],
    'config.yaml: output: file/run: a part of the path is a file, not a directory',
  ],
  ...[[], ['--resume']].map(
    (flags): Case => [
      'sft',
      { ...supervised, output: 'model' },
      flags,
      [
        'config.yaml: output: model/config.json is not the config of a run, but of a model',
        'Choose another directory for the run.',
      ],
    ],
  ),
  [
    'sft',
    { ...supervised, output: '/proc/whetstone/run' },
    [],
    'config.yaml: output: /proc/whetstone/run: cannot create a directory; choose another place',
  ],
  ['sft', supervised, ['--set', 'epochs=many'], '--set: epochs: expected a number, got "many"'],
  ['sft', 'nowhere.yaml', [], 'nowhere.yaml: there is no such file'],
  ['sft', 'list.yaml', [], 'list.yaml: expected an object of options, such as "model: DIR"'],
  [
    'sft',
    'syntax.yaml',
    [],
    'syntax.yaml, line 4, column 1: Flow sequence in block collection must be sufficiently indented and end with a ]',
  ],
  ['sft', 'throws.ts', [], 'throws.ts: the module cannot be loaded: no such variable: HOME_OF_DATA'],
  [
    'reward train',
    { ...pairs, freezeBackbone: true, lora: {} },
    [],
    'config.yaml: freezeBackbone: trains only the head and cannot be combined with an adapter',
  ],
  [
    'reward train',
    { ...pairs, data: 'rows.jsonl' },
    [],
    [
      'rows.jsonl: a bad row',
      '  rows.jsonl:1: no preferences: expected prompt, chosen and rejected, or prompt, responses and rankings or scores; the row has prompt, completion: set columns to name them',
      'Fix them, or set maxBadRows to skip up to that many.',
    ],
  ],
  [
    'dpo',
    { ...pairs, loss: 'dop' },
    [],
    'config.yaml: loss: expected one of dpo, cdpo, ipo, kto, got "dop"; did you mean dpo?',
  ],
  ['dpo', { ...pairs, ipoLogprobs: 'sum' }, [], 'config.yaml: ipoLogprobs: only for ipo, and loss is dpo'],
  [
    'dpo',
    { ...pairs, loss: 'cdpo' },
    [],
    'config.yaml: labelSmoothing: cdpo needs a value above 0; use dpo for no smoothing',
  ],
  [
    'dpo',
    { ...pairs, reference: 'small' },
    [],
    'config.yaml: reference: small has a vocabulary of 100, and the tokenizer in model has 2000 tokens; use the tokenizer of the model',
  ],
  [
    'rl',
    { ...rl, algorithm: 'grop' },
    [],
    'config.yaml: algorithm: expected one of ppo, grpo, rloo, reinforce, reinforce++, reinforce_baseline, dr_grpo, dapo, gspo, gmpo, cispo, cpgd, got "grop"; did you mean grpo?',
  ],
  [
    'rl',
    { ...rl, nSamplesPerPrompt: 1 },
    [],
    'config.yaml: nSamplesPerPrompt: group_norm compares the samples of a prompt and needs at least 2; gae and reinforce work with 1',
  ],
  [
    'rl',
    { ...rl, rewards: undefined },
    [],
    'rewards: missing; a module that exports a reward (.ts, .js, .mjs), a file that lists reward sources (.yaml, .json), a reward model (a directory or an id of the Hub), or a rule (exact-match, numeric-answer, format); or a list of these, whose rewards are added. Or give environment or tools',
  ],
  [
    'rl',
    { ...rl, rewards: 'nowhere.ts' },
    [],
    'config.yaml: rewards: nowhere.ts: there is no such file; expected a module that exports a reward (.ts, .js, .mjs), a file that lists reward sources (.yaml, .json), a reward model (a directory or an id of the Hub), or a rule (exact-match, numeric-answer, format)',
  ],
  [
    'rl',
    { ...rl, generator: { type: 'vlm' } },
    [],
    'config.yaml: generator.type: expected one of local, vllm, sglang, got "vlm"; did you mean vllm?',
  ],
  [
    'rl',
    { ...rl, generator: { type: 'vllm', urls: ['10.0.0.7:8000'] } },
    [],
    'config.yaml: generator.urls.0: expected http:// or https:// and a host, got "10.0.0.7:8000"',
  ],
  [
    'rl',
    { ...rl, generator: { type: 'vllm', urls: ['http://me:secret@10.0.0.7:8000'] } },
    [],
    'config.yaml: generator.urls.0: a URL must not contain a user or a password; put the key into an environment variable and name it in apiKeyEnv',
  ],
  [
    'rl',
    { ...rl, generator: { type: 'vllm', apiKey: 'sk-secret' } },
    [],
    'config.yaml: there is no option "generator.apiKey"; did you mean apiKeyEnv?',
  ],
  [
    'rl',
    { ...rl, generator: { urls: ['http://10.0.0.7:8000'] } },
    [],
    'config.yaml: generator.urls: only for servers, and generator.type is local',
  ],
  [
    'rl',
    { ...rl, generator: { type: 'vllm', weights: 'adapter' } },
    [],
    'config.yaml: generator.weights: adapter needs lora or adapter, and this run trains all weights',
  ],
  [
    'rl',
    { ...rl, generator: { type: 'vllm' }, useFire: true },
    [],
    'config.yaml: useFire: vLLM only takes temperatures up to 2. For a higher firstTokenTemperature the run samples the first token itself and needs topK: set it, for example to 16',
  ],
  [
    'rl',
    { ...rl, maxStaleness: 1, tisCap: 2 },
    [],
    'config.yaml: maxStaleness: needs servers; the local engine always samples from the weights in training',
  ],
  [
    'rl',
    { ...rl, generator: { type: 'sglang' }, maxStaleness: 1, enableEngineSleep: true },
    [],
    [
      'config.yaml: maxStaleness: needs tisCap to weight samples of an older policy; set it, for example to 2',
      'config.yaml: maxStaleness: cannot be combined with enableEngineSleep: a sleeping engine does not generate',
    ],
  ],
  [
    'rl',
    { ...rl, tisCap: 2, topP: 0.9 },
    [],
    'config.yaml: tisCap: needs sampling without filters, and topP is 0.9; remove one of them',
  ],
  ['rl', { ...rl, critic: {} }, [], 'critic: group_norm uses no critic; remove it, or set advantageEstimator to gae'],
  [
    'rl',
    { ...rl, useKlLoss: true, reference: 'none' },
    [],
    'config.yaml: reference: useKlLoss needs a reference, and reference is none',
  ],
  [
    'rl',
    { ...rl, reference: 'adapter-off' },
    [],
    'config.yaml: reference: adapter-off needs lora or adapter; use initial for the model before training',
  ],
  [
    'rl',
    { ...rl, maxNewTokens: 64 },
    [],
    'config.yaml: maxNewTokens: 64 tokens do not fit into the context of the policy (model: 64 tokens); lower maxNewTokens',
  ],
  [
    'rl',
    { ...rl, trainBatchSize: 1000 },
    [],
    'config.yaml: trainBatchSize: 1000 is more than the samples of a rollout (32 prompts x 8 samples = 256)',
  ],
  [
    'rl',
    { ...rl, klController: { kind: 'adaptiv' } },
    [],
    'config.yaml: klController.kind: expected one of fixed, adaptive, got "adaptiv"; did you mean adaptive?',
  ],
  [
    'sft',
    { ...supervised, optimizer: { warmupSteps: 10, warmupRatio: 0.1 } },
    [],
    'config.yaml: optimizer.warmupRatio: give warmupSteps or warmupRatio, not both',
  ],
  [
    'rl',
    { ...rl, algorithm: 'ppo', critic: { optimizer: { warmupSteps: 0, warmupRatio: 0.1 } } },
    [],
    'config.yaml: critic.optimizer.warmupRatio: give warmupSteps or warmupRatio, not both',
  ],
  ['rl', { ...rl, minNewTokens: 9 }, [], 'config.yaml: minNewTokens: 9 is more than maxNewTokens (8)'],
  [
    'rl',
    { ...rl, algorithm: 'reinforce', dynamicSampling: true },
    [],
    'config.yaml: dynamicSampling: drops prompts with equal rewards, and with one sample per prompt that is every prompt; set nSamplesPerPrompt to 2 or more, or turn it off',
  ],
  [
    'rl',
    { ...rl, temperature: 0 },
    [],
    'config.yaml: temperature: with 0 all samples of a prompt are equal, and group_norm compares them; raise it, for example to 1',
  ],
  [
    'rl',
    { ...rl, algorithm: 'rloo', topK: 1, minNewTokens: 9 },
    [],
    [
      'config.yaml: minNewTokens: 9 is more than maxNewTokens (8)',
      'config.yaml: topK: with 1 all samples of a prompt are equal, and rloo compares them; raise it, or remove it',
    ],
  ],
  [
    'rl',
    { ...rl, evaluation: { nSamplesPerPrompt: 4 } },
    [],
    'config.yaml: evaluation.nSamplesPerPrompt: with evaluation.temperature 0 all samples of a prompt are equal; raise the temperature, or set it to 1',
  ],
  ['rl', { ...rl, ppo_epochs: 4 }, [], 'config.yaml: there is no option "ppo_epochs"; use updateEpochs'],
]

test('an output that has a run is refused; a dry run checks the rest and says so', async () => {
  const { dry, run } = await both('sft', { ...supervised, output: 'run' }, [])
  expect(run).toEqual({
    code: 1,
    message: `whetstone: config.yaml: output: run already has a run
Resume it with --resume, or choose another directory for the new run: --output DIR.
`,
  })
  expect(dry.code).toBe(0)
})

test.each(cases)('%s %j %j', async (verb, values, flags, message) => {
  const refused = { code: 1, message: `whetstone: ${[message].flat().join('\n')}\n` }
  expect(await both(verb, values, flags)).toEqual({ dry: refused, run: refused })
})

test.each([
  [['--set', 'epochs'], '--set: expected key=value, got "epochs"'],
  [['--resum'], 'there is no option --resum; did you mean --resume?'],
  [['--allow-change'], "Option '--allow-change <value>' argument missing"],
])('a command line that is wrong is code 2: %j', async (flags, message) => {
  writeFileSync(at('config.yaml'), stringify(supervised))
  const help = '`whetstone sft --help` lists the options.'
  expect(await said(['sft', '--config', at('config.yaml'), ...flags])).toEqual({
    code: 2,
    message: `whetstone: ${message}\n${help}\n`,
  })
})
