import { expect, test } from 'vitest'
import { memoryLines } from '../../src/cli/dry-run.js'
import { resolvedConfig } from '../../src/cli/resolved-config.js'
import { resumeLine } from '../../src/cli/train-command.js'
import { newConfig, sizes } from '../../src/model/index.js'
import type { Tokenizer } from '../../src/text/index.js'
import { type CheckedModel, estimateModel, type PlannedUse } from '../../src/train/index.js'

const config = newConfig('qwen2', { ...sizes['0.5b'], vocabSize: 151_936 })

function checked(name: string, trained: PlannedUse['trained']): CheckedModel {
  const shape = { config: config.decoder, head: 'language', device: 'cuda', dtype: 'bfloat16' } as const
  const memory = estimateModel({ ...shape, name, trained, gradientCheckpointing: false, tokens: 32_768, longest: 1024 })
  const use = { name, option: 'model', directory: 'model', role: 'language', trained, computes: 'yes' } as const
  return { use, config, parameters: 494_032_768, memory }
}

const models = {
  models: [checked('the policy', 'weights'), checked('the reference', 'nothing')],
  tokenizer: undefined as unknown as Tokenizer,
  device: 'cuda',
  dtype: 'bfloat16',
  batch: {
    tokens: 32_768,
    rows: 32_768,
    outputs: 32_768,
    longest: 1024,
    sequences: 32,
    batches: 2,
    patches: 0,
    images: 0,
  },
  cache: 3.2e9,
  together: 46.1e9,
  choice: { device: 'cuda' },
  ranks: 1,
  sharing: 1,
} as const

test('the table of memory, as the page of training shows it', () => {
  expect(memoryLines(models, 150.1e9)).toEqual([
    'memory on cuda in bfloat16, 32,768 tokens at a time (an estimate):',
    '                    parameters  weights  gradients  moments  copies  activations   total',
    '  the policy       494,032,768   988 MB     988 MB   4.0 GB  2.0 GB        33 GB   41 GB',
    '  the reference    494,032,768   988 MB                                   1.2 GB  2.2 GB',
    '  keys and values                                                                 3.2 GB',
    '  together about 46 GB of 150 GB',
  ])
})

test('what lies on another device is shown with it, and not counted', () => {
  const [policy, reference] = models.models
  const elsewhere = { ...reference!, memory: { ...reference!.memory, name: 'reward judge', device: 'cpu' } } as const
  const lines = memoryLines({ ...models, models: [policy!, elsewhere], together: 45.1e9 }, 150.1e9)
  expect(lines[3]).toMatch(/^ {2}reward judge, on cpu +494,032,768 /)
  expect(lines.at(-1)).toBe('  together about 45 GB of 150 GB on cuda')
})

test('what does not fit is said, with what takes less', () => {
  expect(memoryLines(models, 24e9).at(-1)).toBe(
    'The device has less memory. To save memory: a smaller tokenBudget, gradientCheckpointing, lora, enableEngineSleep.',
  )
})

test('where the device is on another machine, whether it fits is not known', () => {
  expect(memoryLines(models, undefined).slice(-2)).toEqual([
    '  together about 46 GB',
    'This machine has no cuda: cannot check whether the memory is enough.',
  ])
})

test('a resolved config is YAML, with where each value came from', () => {
  const values = {
    model: 'tiny',
    stop: ['a: b', '#'],
    system: 'two\nlines',
    optimizer: { lr: 1e-5, betas: [0.9, 1] },
    x: {},
  }
  const text = resolvedConfig(values, { model: 'sft.yaml', 'optimizer.lr': '--set' })
  expect(text.split('\n')).toEqual([
    'model: tiny           # sft.yaml',
    'stop: ["a: b","#"]    # default',
    'system: "two\\nlines"  # default',
    'optimizer:',
    '  lr: 0.00001         # --set',
    '  betas: [0.9,1]      # default',
    'x: {}                 # default',
  ])
})

test('the line that resumes can be typed as it is', () => {
  const args = ['--config', 'my runs/sft.yaml', '--set', "name=it's", '--resume', '--set', 'optimizer.lr=1e-5']
  expect(resumeLine('reward train', args)).toBe(
    "whetstone reward train --config 'my runs/sft.yaml' --set 'name=it'\\''s' --set optimizer.lr=1e-5 --resume",
  )
})
