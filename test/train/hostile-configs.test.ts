/**
 * What a stranger, or somebody hostile, writes into configs: in every verb the dry run says the same as the run, neither makes
 * anything nor shows a stack, and the message names the option or the file.
 */
import { expect, test } from 'vitest'
import { refusals } from './refusals.js'

const { both, said, at } = refusals()

const supervised = { model: 'model', device: 'cpu', data: 'rows.jsonl', output: 'new' }
const pairs = { ...supervised, data: 'pairs.jsonl' }
const rl = { ...supervised, data: 'prompts.jsonl', rewards: 'reward.ts', maxNewTokens: 8 }
const experience = {
  ...{ model: 'model', device: 'cpu', data: 'prompts.jsonl', rewards: 'reward.ts', output: 'new' },
  ...{ maxNewTokens: 8, advantageEstimator: 'reinforce' },
}
const pipeline = {
  ...{ baseModel: 'model', device: 'cpu', sftDataPath: 'many.jsonl', rewardDataPath: 'many-pairs.jsonl' },
  ...{ ppoDataPath: 'many.jsonl', saveDir: 'new', validationShare: 0.3, maxLength: 60, ppo: { maxNewTokens: 8 } },
}
const bases = { sft: supervised, 'reward train': pairs, dpo: pairs, rl, experience, pipeline } as const
type Verb = keyof typeof bases

type Case = readonly [verb: Verb, change: object | string, message: string | readonly string[]]

const noCuda = '`whetstone doctor` lists the devices. Use `auto` for a GPU if the machine has one, else the CPU.'
const float32 = 'expected a number in the range of float32 (up to 3.4e38, and not closer to 0 than 1e-45)'
const deep = 'nested more than 50 levels deep, or a value contains itself'

const cases: readonly Case[] = [
  // Numbers that no training can use.
  ['sft', { optimizer: { lr: 1e39 } }, `config.yaml: optimizer.lr: ${float32}, got 1e+39`],
  ['sft', { optimizer: { eps: 1e-60 } }, `config.yaml: optimizer.eps: ${float32}, got 1e-60`],
  ['sft', { optimizer: { weightDecay: 1e39 } }, `config.yaml: optimizer.weightDecay: ${float32}, got 1e+39`],
  ['sft', { lora: { alpha: 1e39 } }, `config.yaml: lora.alpha: ${float32}, got 1e+39`],
  ['dpo', { optimizer: { lr: 1e39 } }, `config.yaml: optimizer.lr: ${float32}, got 1e+39`],
  ['dpo', { beta: 1e39 }, `config.yaml: beta: ${float32}, got 1e+39`],
  ['reward train', { optimizer: { lr: 1e39 } }, `config.yaml: optimizer.lr: ${float32}, got 1e+39`],
  [
    'rl',
    { temperature: 1e39 },
    'config.yaml: temperature: expected 0, or a number from 0.000001 to 1000000, got 1e+39',
  ],
  ['rl', { temperature: 1e-9 }, 'config.yaml: temperature: expected 0, or a number from 0.000001 to 1000000, got 1e-9'],
  ['rl', { klController: { kind: 'fixed', coef: 1e39 } }, `config.yaml: klController.coef: ${float32}, got 1e+39`],
  ['rl', { entropyCoef: 1e39 }, `config.yaml: entropyCoef: ${float32}, got 1e+39`],
  [
    'rl',
    { algorithm: 'ppo', critic: { optimizer: { lr: 1e39 } } },
    `config.yaml: critic.optimizer.lr: ${float32}, got 1e+39`,
  ],
  ['pipeline', { sftLr: 1e39 }, `config.yaml: sftLr: ${float32}, got 1e+39`],
  ['pipeline', { ppoLrValue: 1e39 }, `config.yaml: ppoLrValue: ${float32}, got 1e+39`],
  [
    'experience',
    { temperature: 1e39 },
    'config.yaml: temperature: expected 0, or a number from 0.000001 to 1000000, got 1e+39',
  ],
  [
    'rl',
    { nSamplesPerPrompt: 1e15 },
    'config.yaml: nSamplesPerPrompt: expected a number of at most 65536, got 1000000000000000',
  ],
  [
    'rl',
    { rolloutBatchSize: 1e15 },
    'config.yaml: rolloutBatchSize: expected a number of at most 1048576, got 1000000000000000',
  ],
  [
    'rl',
    { rolloutBatchSize: 1e6, nSamplesPerPrompt: 1e4 },
    'config.yaml: rolloutBatchSize: 1000000 prompts x 10000 samples = 10000000000 samples per rollout; the most is 10000000',
  ],

  [
    'reward train',
    { rankingWeight: 0 },
    'config.yaml: rankingWeight: rankingWeight and contrastiveWeight are both 0, so the loss prefers no answer; raise one of them',
  ],
  [
    'rl',
    { algorithm: 'ppo', iterations: 3, critic: { warmupIterations: 3 } },
    'config.yaml: critic.warmupIterations: 3 of 3 iterations train only the critic, so the policy would not learn; lower it, or raise iterations',
  ],

  [
    'rl',
    { promptMaxLen: 1000 },
    'config.yaml: promptMaxLen: 1000 tokens do not fit into the context of the policy (model: 64 tokens); lower promptMaxLen',
  ],

  [
    'sft',
    { devices: 'two' },
    'config.yaml: devices: expected all, a number, or a list of GPUs such as [0, 1], got "two"',
  ],
  [
    'rl',
    { device: 'cuda:0', devices: 2 },
    'config.yaml: devices: devices says which GPUs the ranks have, and device says cuda:0 for all of them; set device to cuda, or leave devices out',
  ],

  // More than this machine has.
  ...(['sft', 'rl'] as const).map(
    (verb): Case => [
      verb,
      { lora: { rank: 1e9 } },
      [
        expect.stringMatching(
          /^config\.yaml: lora\.rank: the (model|policy) with an adapter of rank 1000000000 takes 3,712 GB for weights, gradients and optimiser state, and this machine has [\d.]+ GB$/,
        ),
        'docs/out-of-memory.md explains each option.',
      ],
    ],
  ),
  ...(['sft', 'reward train', 'dpo', 'rl', 'experience'] as const).map(
    (verb): Case => [
      verb,
      { device: 'cuda' },
      ['config.yaml: device: there is no cuda on this machine: libtorch finds no usable CUDA device', noCuda],
    ],
  ),
  [
    'sft',
    { device: 'cuda:7' },
    ['config.yaml: device: there is no cuda:7 on this machine: libtorch finds no usable CUDA device', noCuda],
  ],
  [
    'pipeline',
    { device: 'cuda' },
    ['stage sft: device: there is no cuda on this machine: libtorch finds no usable CUDA device', noCuda],
  ],
  [
    'pipeline',
    { ppo: { maxNewTokens: 8, device: 'cuda' } },
    ['stage ppo: device: there is no cuda on this machine: libtorch finds no usable CUDA device', noCuda],
  ],

  // What only a tokenizer can find.
  ...(['sft', 'dpo', 'rl', 'experience'] as const).map(
    (verb): Case => [
      verb,
      { model: 'bad-template' },
      'config.yaml: model: bad-template/tokenizer_config.json: the chat template does not parse: Parser Error: Expected closing expression token. CloseCurlyBracket !== CloseExpression.',
    ],
  ),
  [
    'pipeline',
    { baseModel: 'bad-template' },
    'stage sft: model: bad-template/tokenizer_config.json: the chat template does not parse: Parser Error: Expected closing expression token. CloseCurlyBracket !== CloseExpression.',
  ],
  [
    'sft',
    { data: 'long.jsonl' },
    'config.yaml: data: every example is skipped (overlong 1; the first: N tokens, and none of the first 64 is a trained token); raise maxLength, or shorten the rows',
  ],
  [
    'reward train',
    { data: 'long-pairs.jsonl' },
    'config.yaml: data: every example is skipped (overlong 1; the first: N tokens, more than maxLength (64)); raise maxLength, or shorten the rows',
  ],
  [
    'sft',
    { validationData: 'long.jsonl' },
    'validation: every example is skipped (overlong 1; the first: N tokens, and none of the first 64 is a trained token); raise maxLength, or shorten the rows',
  ],
  [
    'rl',
    { ptx: { data: 'long.jsonl' } },
    'config.yaml: ptx.data: every example is skipped (overlong 1; the first: N tokens, and none of the first 64 is a trained token); raise maxLength, or shorten the rows',
  ],

  [
    'rl',
    { ptx: { data: 'gone.jsonl' } },
    'config.yaml: ptx.data: gone.jsonl: there is no such file; expected a data file, a folder of a data set, or a glob pattern',
  ],

  // Files for directories, directories for files, and paths that lead nowhere.
  ['sft', { model: 'file' }, 'config.yaml: model: file is a file; expected a Hugging Face model directory'],
  [
    'sft',
    { model: 'loop' },
    'config.yaml: model: loop/config.json cannot be read: a symbolic link leads back to itself',
  ],
  [
    'sft',
    { model: 'config-directory' },
    'config.yaml: model: config-directory/config.json cannot be read: it is a directory; expected a file',
  ],
  [
    'sft',
    { model: 'tokenizer-directory' },
    'config.yaml: model: tokenizer-directory/tokenizer.json: it is a directory; expected a file',
  ],
  [
    'sft',
    { model: 'weights-directory' },
    'config.yaml: model: weights-directory/model.safetensors: cannot be opened: it is not a regular file',
  ],
  [
    'sft',
    { data: 'folder.jsonl' },
    'folder.jsonl: no data files in this folder (.jsonl, .json, .csv, .tsv, .txt, .parquet or .arrow)',
  ],
  [
    'sft',
    { data: 'pipe' },
    'pipe is a pipe or a device, and the run reads rows more than once: write them to a file first',
  ],
  ['sft', { output: 'file/x' }, 'config.yaml: output: file/x: a part of the path is a file, not a directory'],
  ['sft', { output: 'loop' }, 'config.yaml: output: loop: a symbolic link leads back to itself'],
  [
    'sft',
    { output: 'x'.repeat(300) },
    `config.yaml: output: ${'x'.repeat(300)}: the name is too long for the file system`,
  ],
  ['pipeline', { saveDir: 'file' }, 'saveDir: file: it is a file, and a directory is needed'],
  ['pipeline', { saveDir: 'file/x' }, 'saveDir: file/x: a part of the path is a file, not a directory'],
  ['pipeline', { baseModel: 'file' }, 'stage sft: baseModel: file is a file; expected a Hugging Face model directory'],
  ['experience', { model: 'file' }, 'config.yaml: model: file is a file; expected a Hugging Face model directory'],
  [
    'experience',
    { model: 'no-tokenizer' },
    'config.yaml: model: no-tokenizer/tokenizer.json: not found. A tokenizer directory needs a tokenizer.json (vocab.txt, merges.txt and SentencePiece models alone are not read: save the tokenizer with transformers to get one).',
  ],
  [
    'experience',
    { reference: 'nowhere' },
    'config.yaml: reference: nowhere does not exist; expected a Hugging Face model directory',
  ],
  [
    'experience',
    { critic: 'nowhere', advantageEstimator: 'gae' },
    'config.yaml: critic: nowhere does not exist; expected a Hugging Face model directory',
  ],
  [
    'experience',
    { advantageEstimator: 'gae' },
    'config.yaml: advantageEstimator: gae needs a critic; give critic, or choose reinforce, rloo, reinforce_baseline or group_norm',
  ],
  [
    'experience',
    { model: 'cut' },
    'config.yaml: model: cut/model.safetensors: tensor "model.layers.0.self_attn.v_proj.weight": its bytes end at 135936, but the file holds 135900 bytes of data (truncated download?)',
  ],
  ['experience', { output: 'folder.jsonl' }, 'folder.jsonl is a directory'],
  ['experience', { output: 'file/x.jsonl' }, 'file/x.jsonl: a part of the path is a file, not a directory'],
  ['experience', { output: 'gone/x.jsonl' }, 'gone/x.jsonl: its directory does not exist'],
  ['experience', { seed: 'x' }, 'config.yaml: seed: expected a number, got "x"'],
  [
    'experience',
    { maxNewTokens: 64 },
    'config.yaml: maxNewTokens: 64 tokens do not fit into the context of the actor (model: 64 tokens); lower maxNewTokens',
  ],
  ...(['sft', 'pipeline', 'experience'] as const).flatMap((verb): Case[] => [
    [verb, 'folder.yaml', 'folder.yaml: it is a directory; expected a file'],
    [verb, 'folder.ts', 'folder.ts: it is a directory; expected a file'],
    [verb, 'file/x.yaml', 'file/x.yaml: a part of the path is a file, not a directory'],
    // YAML that unfolds without end.
    [verb, 'bomb.yaml', 'bomb.yaml: its YAML aliases expand to too much; write the values out'],
    [verb, 'itself.yaml', `itself.yaml: ${deep}`],
  ]),

  // Names that JavaScript objects have.
  ['sft', 'proto.yaml', 'proto.yaml: there is no option "__proto__"'],
  ['sft', 'names.yaml', ['names.yaml: there is no option "constructor"', 'names.yaml: there is no option "toString"']],

  // NUL characters, which end a path to the operating system.
  ...(['model', 'data', 'output', 'adapter'] as const).map(
    (option): Case => [
      'sft',
      { [option]: 'a\0b' },
      `config.yaml: ${option}: expected a path without NUL characters, got "a\\u0000b"`,
    ],
  ),
  [
    'sft',
    { data: [{ path: 'a\0b' }] },
    'config.yaml: data.path: expected a path without NUL characters, got "a\\u0000b"',
  ],
  ['rl', { rewards: 'a\0.ts' }, 'config.yaml: rewards: expected a path without NUL characters, got "a\\u0000.ts"'],
  ['pipeline', { saveDir: 'a\0b' }, 'config.yaml: saveDir: expected a path without NUL characters, got "a\\u0000b"'],
  ['experience', { data: 'a\0b' }, 'config.yaml: data: expected a path without NUL characters, got "a\\u0000b"'],
]

test.each(cases)('%s %j', async (verb, change, message) => {
  const values = typeof change === 'string' ? change : { ...bases[verb], ...change }
  const { dry, run } = await both(verb, values)
  expect(dry).toEqual(run)
  expect(run.code).toBe(1)
  const [first, ...rest] = [message].flat()
  const [saidFirst, ...saidRest] = run.message
    .replace(/^whetstone: /, '')
    .replace(/(?<=the first: )\d+(?= tokens)/, 'N')
    .trimEnd()
    .split('\n')
  expect(saidFirst).toEqual(first)
  expect(saidRest).toEqual(rest)
})

test('--set cannot reach the prototype of an object', async () => {
  for (const setting of ['__proto__.polluted=1', 'optimizer.__proto__.lr=1', 'constructor.prototype.polluted=1']) {
    const { dry, run } = await both('sft', supervised, ['--set', setting])
    expect(run).toEqual(dry)
    expect(run.message).toMatch(
      /^whetstone: --set: there is no option "(__proto__|optimizer\.__proto__|constructor)"\n$/,
    )
  }
  expect(({} as Record<string, unknown>).polluted).toBeUndefined()
})

test('a GPU that is not here, in the verbs without a config', async () => {
  const cuda = ['--device', 'cuda']
  const message = `: there is no cuda on this machine: libtorch finds no usable CUDA device\n${noCuda}\n`
  const model = ['--model', at('model')]
  const files = ['--input', at('prompts.jsonl'), '--output', at('new.jsonl')]
  const named = { code: 1, message: `whetstone: --device${message}` }
  expect(await said(['generate', ...model, ...files, ...cuda])).toEqual(named)
  expect(await said(['score', ...model, '--input', at('scored.jsonl'), '--output', at('new.jsonl'), ...cuda])).toEqual(
    named,
  )
  expect(await said(['chat', ...model, ...cuda])).toEqual(named)
  expect(await said(['serve', ...model, ...cuda])).toEqual(named)
  expect(await said(['eval', ...model, '--data', at('rows.jsonl'), ...cuda])).toEqual({
    code: 1,
    message: `whetstone: device${message}`,
  })
})
