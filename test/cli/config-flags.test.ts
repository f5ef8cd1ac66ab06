/** Options of a config as flags, for every verb with a config. */
import { mkdirSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { z } from 'zod'
import { readConfigFlags } from '../../src/cli/config-flags.js'
import { configKind, configKinds, configs } from '../../src/cli/configs.js'
import { UsageError } from '../../src/cli/flags.js'
import { newConfigText } from '../../src/cli/new.js'
import { algorithmNames, configOptions, trainings } from '../../src/train/index.js'
import { cli } from '../support/cli.js'
import { temporaryDirectory } from '../support/files.js'
import { modelDirectory } from '../support/tiny-model.js'

const own = z.object({ config: z.string().optional(), dryRun: z.boolean().optional() })
const rl = trainings.rl
const values = (...args: string[]): unknown => readConfigFlags(args, own, rl).layer.values

describe('a flag is the option of its name, typed as the schema says', () => {
  test.each([
    [['--max-new-tokens', '256'], { maxNewTokens: 256 }],
    [['--maxNewTokens=256'], { maxNewTokens: 256 }],
    [['--max_new_tokens', '256'], { maxNewTokens: 256 }],
    [['--optimizer.lr', '1e-5', '--optimizer.warmup-ratio=.1'], { optimizer: { lr: 1e-5, warmupRatio: 0.1 } }],
    [['--optimizer.betas', '0.9,0.95'], { optimizer: { betas: [0.9, 0.95] } }],
    [['--optimizer.betas', '[0.9, 0.95]'], { optimizer: { betas: [0.9, 0.95] } }],
    [['--devices', '0,2'], { devices: [0, 2] }],
    [['--devices', '[0, 2]'], { devices: [0, 2] }],
    [['--devices', '2'], { devices: 2 }],
    [['--devices', 'all'], { devices: 'all' }],
    [['--optimizer.max-grad-norm', 'null'], { optimizer: { maxGradNorm: null } }],
    [['--lora.targets', 'q_proj,v_proj'], { lora: { targets: ['q_proj', 'v_proj'] } }],
    [['--lora', '--seed', '3'], { lora: {}, seed: 3 }],
    [['--lora', '{"rank": 4}'], { lora: { rank: 4 } }],
    [['--lora', '--lora.rank', '4'], { lora: { rank: 4 } }],
    [['--gradient-checkpointing', '--seed', '3'], { gradientCheckpointing: true, seed: 3 }],
    [['--gradient-checkpointing', 'false'], { gradientCheckpointing: false }],
    [['--no-shuffle'], { shuffle: false }],
    [['--model', '123', '--output', 'true'], { model: '123', output: 'true' }],
    [['--data', 'a.jsonl'], { data: 'a.jsonl' }],
    [['--data', 'a.jsonl', '--data', 'b.jsonl'], { data: ['a.jsonl', 'b.jsonl'] }],
    [['--data', '{a,b}.jsonl'], { data: '{a,b}.jsonl' }],
    [
      ['--data', 'a.jsonl', '--data.columns.prompt', 'question'],
      { data: { path: 'a.jsonl', columns: { prompt: 'question' } } },
    ],
    [['--kl-controller.coef', '0'], { klController: { coef: 0 } }],
    [['--loss-options.power', '2'], { lossOptions: { power: 2 } }],
    [
      ['--algorithm', 'ppo', '--advantage-estimator', './mine.ts'],
      { algorithm: 'ppo', advantageEstimator: './mine.ts' },
    ],
    [['--seed', '1', '--seed', '2'], { seed: 2 }],
  ])('%s', (args, expected) => expect(values(...args)).toEqual(expected))

  test('the flags of the verb are its own', () => {
    const { flags, layer } = readConfigFlags(['--dry-run', '--config', 'a.yaml', '--seed', '1'], own, rl)
    expect({ flags, values: layer.values }).toEqual({ flags: { dryRun: true, config: 'a.yaml' }, values: { seed: 1 } })
  })
})

describe('a flag that is not there says what was probably meant', () => {
  test.each([
    [['--lr', '1'], 'there is no option --lr; did you mean --optimizer.lr?'],
    [['--max-new-token', '1'], 'there is no option --max-new-token; did you mean --max-new-tokens?'],
    [['--num-generations', '4'], 'there is no option --num-generations; use nSamplesPerPrompt'],
    [['--rank', '4'], 'there is no option --rank; did you mean --lora.rank?'],
    [['--dry-rum'], 'there is no option --dry-rum; did you mean --dry-run?'],
    [['--optimizer.lrr', '1'], 'there is no option --optimizer.lrr; did you mean --optimizer.lr?'],
    [['--xyzzy', '1', '--zzzzzzzz'], 'there is no option --xyzzy\nthere is no option --zzzzzzzz'],
    [['--no-seed'], 'there is no option --no-seed'],
    [['--seed'], '--seed: expected a value: seed of all random numbers'],
    [['--model', '--seed', '1'], '--model: expected a value: the model to train'],
  ])('%s', (args, message) => {
    expect(() => values(...args)).toThrow(UsageError)
    expect(() => values(...args)).toThrow(message)
  })
})

test('every option of every config has a flag', () => {
  for (const { schema, options } of Object.values(configs))
    for (const { name } of configOptions(schema)) {
      const flag = `--${name.replace(/[A-Z]/g, letter => `-${letter.toLowerCase()}`)}`
      expect(() => readConfigFlags([flag, 'true'], z.object({}), { schema, options })).not.toThrow()
    }
})

const folder = temporaryDirectory()
const at = (name: string): string => join(folder, name)
const lines = (name: string, rows: readonly unknown[]): void =>
  writeFileSync(at(name), rows.map(row => `${JSON.stringify(row)}\n`).join(''))
const run = (...args: string[]) => cli(args, { cwd: folder })

beforeAll(async () => {
  renameSync(await modelDirectory(1), at('model'))
  const rows = (row: object) => Array.from({ length: 8 }, (_, i) => ({ prompt: `Hello ${i}`, ...row }))
  lines('conversations.jsonl', rows({ completion: ' there' }))
  lines('preferences.jsonl', rows({ chosen: 'there', rejected: 'what' }))
  lines('labelled.jsonl', [
    { prompt: 'Hello', completion: 'there', label: true },
    { prompt: 'Hi', completion: 'what', label: false },
  ])
  lines('prompts.jsonl', rows({}))
  writeFileSync(at('reward.ts'), 'export default () => 1\n')
})

const trained = ['--model', 'model', '--device', 'cpu', '--output', 'out', '--dry-run']
const rewarded = [...trained, '--data', 'prompts.jsonl', '--max-new-tokens', '64']
/** A rule needs no process of its own: a file is tried with one algorithm. */
const rewardsOf = (kind: string): string[] => ['--rewards', kind === 'grpo' ? 'reward.ts' : 'format']

describe('a training without a config file', () => {
  test.each(algorithmNames)('whetstone %s', async algorithm => {
    const { code, stdout, stderr } = await run(algorithm, ...rewarded, ...rewardsOf(algorithm))
    expect(stderr).toContain('All checks passed.')
    expect(code).toBe(0)
    expect(parse(stdout)).toMatchObject({ algorithm, model: at('model'), maxNewTokens: 64 })
    expect(stdout).toMatch(
      new RegExp(`algorithm: ${algorithm.replaceAll('+', '\\+')} +# whetstone ${algorithm.replaceAll('+', '\\+')}`),
    )
  })

  test.each([
    ['dpo', 'preferences.jsonl'],
    ['ipo', 'preferences.jsonl'],
    ['kto', 'labelled.jsonl'],
    ['sft', 'conversations.jsonl'],
    ['reward train', 'preferences.jsonl'],
    ['reward-model', 'preferences.jsonl'],
    ['dr-grpo', 'prompts.jsonl'],
  ])('whetstone %s', async (verb, data) => {
    const more = verb === 'dr-grpo' ? [...rewardsOf(verb), '--max-new-tokens', '64'] : []
    const { code, stderr } = await run(...verb.split(' '), ...trained, '--data', data, ...more)
    expect(stderr).toContain('All checks passed.')
    expect(code).toBe(0)
  })

  test('experiences and a pipeline', async () => {
    const made = [
      '--model',
      'model',
      '--data',
      'prompts.jsonl',
      ...rewardsOf('experience'),
      '--output',
      'e.jsonl',
      '--device',
      'cpu',
      '--advantage-estimator',
      'reinforce',
    ]
    expect((await run('experience', ...made, '--max-new-tokens', '64', '--dry-run')).code).toBe(0)
    const data = [
      '--sft-data-path',
      'conversations.jsonl',
      '--reward-data-path',
      'preferences.jsonl',
      '--ppo-data-path',
      'prompts.jsonl',
    ]
    const { code, stderr } = await run(
      'pipeline',
      '--base-model',
      'model',
      ...data,
      '--save-dir',
      'rlhf',
      '--device',
      'cpu',
      '--ppo.max-new-tokens',
      '64',
      '--validation-share',
      '0.5',
      '--max-length',
      '128',
      '--dry-run',
    )
    expect(stderr).not.toMatch(/^whetstone: /m)
    expect(code).toBe(0)
  })

  test('flags win over the config and over --set', async () => {
    writeFileSync(
      at('a.yaml'),
      'model: gone\ndata: prompts.jsonl\nrewards: format\noutput: out\nseed: 1\ndevice: cpu\n',
    )
    const { stdout } = await run(
      'grpo',
      '--config',
      'a.yaml',
      '--model',
      'model',
      '--set',
      'seed=2',
      '--seed',
      '3',
      '--max-new-tokens',
      '64',
      '--dry-run',
    )
    expect(stdout).toMatch(/^seed: 3 +# command line$/m)
    expect(stdout).toMatch(/^device: cpu +# a\.yaml$/m)
  })

  test('all options that are missing are named', async () => {
    const { code, stderr } = await run('grpo', '--model', 'model')
    expect(code).toBe(2)
    expect(stderr).toMatch(
      /^whetstone: --output: missing; .*\n--data: missing; .*\n--rewards: missing; .*\nGive these flags, or a config file with --config FILE\.\n`whetstone grpo --help` lists/,
    )
  })

  test('rewards are missing only where nothing else gives them', async () => {
    const { code, stderr } = await run('grpo', '--model', 'model', '--environment', 'own.ts')
    expect(code).toBe(2)
    expect(stderr).toMatch(/^whetstone: --output: missing; .*\n--data: missing; .*\nGive/)
    expect((await run('grpo', '--help')).stdout).toMatch(/^Usage: whetstone grpo .*--rewards PATH/)
  })

  test('a config of another algorithm than the verb is refused', async () => {
    writeFileSync(at('b.yaml'), 'algorithm: ppo\nmodel: model\ndata: prompts.jsonl\nrewards: reward.ts\noutput: out\n')
    const { code, stderr } = await run('grpo', '--config', 'b.yaml')
    expect(code).toBe(1)
    expect(stderr).toContain(
      'b.yaml: algorithm: "ppo" contradicts the verb grpo; remove the option, or use whetstone rl',
    )
  })

  test('help has the common options, and all of them when asked', async () => {
    const short = await run('dapo', '--help')
    expect(short.stdout).toContain(
      'Usage: whetstone dapo --model PATH --output PATH --data PATH --rewards PATH [options]',
    )
    expect(short.stdout).toMatch(/--n-samples-per-prompt N +.*\(default 8\)/)
    expect(short.stdout).toContain('`whetstone dapo --help --all` lists all of them')
    expect(short.stdout.split('\n').filter(line => line.length > 140)).toEqual([])
    const all = await run('dapo', '--help', '--all')
    for (const { name } of configOptions(rl.schema))
      expect(all.stdout).toContain(`  --${name.replace(/[A-Z]/g, letter => `-${letter.toLowerCase()}`)}`)
  })
})

describe('whetstone new', () => {
  test.each(configKinds)('%s writes a config that loads and dry-runs', async kind => {
    const file = `${kind}.yaml`
    const small =
      configKind(kind)!.verb === 'pipeline'
        ? ['--ppo.max-new-tokens', '64', '--validation-share', '0.5']
        : kind in trainings.rl.kin || ['rl', 'experience'].includes(kind)
          ? ['--max-new-tokens', '64', ...(kind === 'rl' ? [] : rewardsOf(kind))]
          : kind === 'kto'
            ? ['--data', 'labelled.jsonl']
            : []
    const made = await run('new', kind, file, '--device', 'cpu', ...small)
    expect(made).toMatchObject({ code: 0, stderr: '' })
    const [command] = made.stdout.match(/(?<=\n {2})whetstone .*--dry-run$/m)!
    const { code, stderr } = await run(...command.split(' ').slice(1))
    expect(stderr).not.toContain('has no effect')
    expect(stderr).not.toContain('whetstone: ')
    expect(code).toBe(0)
  })

  test.each(configKinds)('%s: what is commented out has the default', kind => {
    const found = configKind(kind)!
    const text = newConfigText(found, {}, 'a.yaml')
    const { config } = found.resolve([{ origin: 'a', values: parse(text) as object as Record<string, unknown> }])
    for (const [, line, name] of text.matchAll(/^#((\w+): .+)$/gm)) {
      const given = parse(line!) as Record<string, unknown>
      expect(found.schema.shape[name!]!.safeParse(given[name!]), line).toMatchObject({ success: true })
      if (name! in (config as object)) expect(given[name!], line).toEqual((config as Record<string, unknown>)[name!])
    }
    expect(text.split('\n').filter(line => line.length > 125)).toEqual([])
  })

  test('a file that exists stays as it is', async () => {
    writeFileSync(at('mine.yaml'), 'seed: 1\n')
    const { code, stderr } = await run('new', 'sft', 'mine.yaml')
    expect({ code, stderr }).toEqual({
      code: 1,
      stderr: 'whetstone: mine.yaml: already exists; give another name, or remove it\n',
    })
  })

  test('standard output, the usual name, and what is wrong', async () => {
    expect((await run('new', 'sft', '-', '--epochs', '3')).stdout).toMatch(/^epochs: 3$/m)
    mkdirSync(at('empty'))
    expect(await cli(['new', 'dpo'], { cwd: at('empty') })).toMatchObject({ code: 0 })
    expect((await run('new', 'gppo')).stderr).toContain('there is no config "gppo"; did you mean ppo?')
    expect((await run('new')).stderr).toContain('expected a kind of config: sft')
    expect((await run('new', 'sft', 'a.json')).stderr).toContain('a.json: expected a name that ends with .yaml')
    expect((await run('new', 'sft', 'gone/a.yaml')).stderr).toContain('gone/a.yaml: ')
  })
})
