import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { z } from 'zod'
import { InputError } from '../../src/errors/index.js'
import { klControllerSchema } from '../../src/maths/index.js'
import { modelShape, optimizerSchema, runShape } from '../../src/train/config/common.js'
import { fileLayer, resolveConfig, settingsLayer } from '../../src/train/config/resolve.js'

const source = z.strictObject({
  path: z.string().min(1).describe('a file'),
  weight: z.number().positive().optional(),
})
const file = z.string().min(1)
const schema = z.strictObject({
  ...modelShape,
  ...runShape,
  data: z.union([file, source, z.array(z.union([file, source])).min(1)]).describe('the rows'),
  optimizer: optimizerSchema(1e-5),
  klController: klControllerSchema.optional(),
})
const paths = ['model', 'output', 'data', 'data.path']
const values = { model: 'm', output: 'o', data: 'd.jsonl' }

test('later layers win, and each value knows where it came from', () => {
  const { config, origins } = resolveConfig(
    schema,
    [
      { origin: 'preset small', values: { optimizer: { lr: 1, weightDecay: 1 }, seed: 1 } },
      fileLayer('/runs/sft.yaml', { ...values, optimizer: { lr: 2 } }),
      settingsLayer(['optimizer.lr=3', 'device=cpu']),
    ],
    { paths },
  )
  expect(config.optimizer).toMatchObject({ lr: 3, weightDecay: 1, eps: 1e-8 })
  expect(origins).toMatchObject({
    model: '/runs/sft.yaml',
    'optimizer.lr': '--set',
    'optimizer.weightDecay': 'preset small',
    'optimizer.eps': 'default',
    seed: 'preset small',
    device: '--set',
    saveSteps: 'default',
  })
  expect(config.model).toBe('/runs/m')
})

test('paths of a file are relative to it, in lists and sources too; those of the command line to where one is', () => {
  const data = ['a.jsonl', { path: 'b/*.jsonl', weight: 2 }, '/c.jsonl']
  const layers = [fileLayer('/runs/sft.yaml', { ...values, data }), settingsLayer(['model=there'])]
  const { config } = resolveConfig(schema, layers, { paths })
  expect(config.data).toEqual(['/runs/a.jsonl', { path: '/runs/b/*.jsonl', weight: 2 }, '/c.jsonl'])
  expect(config.model).toBe(join(process.cwd(), 'there'))
})

test('a layer that gives one of two alternatives replaces the other one of the layers below', () => {
  const below = { origin: 'preset', values: { ...values, optimizer: { lr: 1, warmupRatio: 0.1 } } }
  const { config, origins } = resolveConfig(schema, [below, settingsLayer(['optimizer.warmupSteps=5'])])
  expect(config.optimizer).toMatchObject({ lr: 1, warmupSteps: 5, warmupRatio: 0 })
  expect(origins).toMatchObject({ 'optimizer.warmupSteps': '--set', 'optimizer.warmupRatio': 'default' })
  const steps = { origin: 'preset', values: { ...values, optimizer: { warmupSteps: 5 } } }
  const again = resolveConfig(schema, [steps, settingsLayer(['optimizer.warmupRatio=0.2'])])
  expect(again.config.optimizer).toMatchObject({ warmupRatio: 0.2 })
  expect(again.config.optimizer.warmupSteps).toBeUndefined()
  const both = settingsLayer(['optimizer.warmupSteps=5', 'optimizer.warmupRatio=0.2'])
  expect(() => resolveConfig(schema, [below, both])).toThrow(
    '--set: optimizer.warmupRatio: give warmupSteps or warmupRatio',
  )
})

test('a section that takes the place of another value takes its origin along', () => {
  const layers = [{ origin: 'file', values: { ...values, data: { path: 'x' } } }, settingsLayer(['data=y'])]
  expect(resolveConfig(schema, layers).origins).toMatchObject({ data: '--set' })
  expect(resolveConfig(schema, layers).origins).not.toHaveProperty(['data.path'])
})

describe('what is wrong, with the layer it came from', () => {
  test.each([
    [{ data: 5 }, 'data: expected text or an object of options or a list, got 5'],
    [{ data: [] }, 'data: expected at least 1 entry, got []'],
    [{ data: { weight: 1 } }, 'data.path: missing; a file'],
    [{ data: { path: 'x', wieght: 2 } }, 'there is no option "data.wieght"; did you mean weight?'],
    [{ data: ['a', { path: 'x', weight: 'b' }] }, 'data.1.weight: expected a number, got "b"'],
    [{ optimizer: { lr: 'fast' } }, 'optimizer.lr: expected a number, got "fast"'],
    [{ optimizer: { lr: -1 } }, 'optimizer.lr: expected a number above 0, got -1'],
    [{ optimizer: { betas: [0.1, 0.2, 0.3] } }, 'optimizer.betas: expected at most 2 entries, got [0.1,0.2,0.3]'],
    [{ optimizer: { weight_decay: 1 } }, 'there is no option "optimizer.weight_decay"; did you mean weightDecay?'],
    [{ learning_rate: 1 }, 'there is no option "learning_rate"; use optimizer: { lr }'],
    [{ keepCheckpoints: 0 }, 'keepCheckpoints: expected a number of at least 1, got 0'],
    [{ klController: { kind: 'x' } }, 'klController.kind: expected one of fixed, adaptive, got "x"'],
    [{ klController: { kind: 'fixed', coef: 'x' } }, 'klController.coef: expected a number, got "x"'],
    [{ dtype: 'bfloat' }, 'dtype: expected one of float32, bfloat16, float16, got "bfloat"; did you mean bfloat16?'],
    [{ device: 'gpu' }, 'device: expected auto, cpu, cuda or cuda:N, got "gpu"'],
    [{ seed: 1.5 }, 'seed: expected an integer, got 1.5'],
    [{ lora: true }, 'lora: expected an object of options, got true'],
    [{ model: '' }, 'model: expected some text, got ""'],
    [{ gradientCheckpointing: 'yes' }, 'gradientCheckpointing: expected true or false, got "yes"'],
  ])('%j', (wrong, message) => {
    const resolve = (): unknown => resolveConfig(schema, [{ origin: 'sft.yaml', values: { ...values, ...wrong } }])
    expect(resolve).toThrow(InputError)
    expect(resolve).toThrow(expect.objectContaining({ message: `sft.yaml: ${message}` }))
  })

  test('all of it at once, a line each', () => {
    const layers = [fileLayer('sft.yaml', { model: 'm', seed: 'x' }), settingsLayer(['saveSteps=0'])]
    expect(() => resolveConfig(schema, layers)).toThrow(
      expect.objectContaining({
        message: [
          'sft.yaml: output: missing; run directory: logs, checkpoints and exported models',
          'sft.yaml: seed: expected a number, got "x"',
          '--set: saveSteps: expected a number of at least 1, got 0',
          'sft.yaml: data: missing; the rows',
        ].join('\n'),
      }),
    )
  })
})
