/** Every model of a verb or a run is on its device. There is no card here: libtorch says that there is one, and models load elsewhere. */
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { main } from '../../src/cli/main.js'
import { InputError } from '../../src/errors/index.js'
import { evaluateModel } from '../../src/evaluate/index.js'
import { type LoadOptions, LocalModel, type Role } from '../../src/model/index.js'
import { resolveDevice } from '../../src/tensor/index.js'
import { native } from '../../src/tensor/native.js'
import { capturedOutput } from '../support/cli.js'
import { fresh, jsonl, temporaryDirectory } from '../support/files.js'
import { base, pipelineOf } from '../support/pipeline.js'
import { rewardModelDirectory } from '../support/tiny-model.js'

capturedOutput()
const folder = temporaryDirectory()
let judge: string
let rewards: string
beforeAll(async () => {
  judge = await rewardModelDirectory(base)
  rewards = join(folder, 'rewards.yaml')
  writeFileSync(rewards, `sources: { judge: { type: model, path: ${judge} } }\n`)
})

interface Loaded {
  role: Role | undefined
  device: string | undefined
  dtype: string | undefined
}
let loaded: Loaded[] = []
let stopAtLoading = false
beforeEach(() => {
  loaded = []
  stopAtLoading = false
  const machine = native.machine()
  const card = { name: 'pretended', totalBytes: 2 ** 36, capability: 9, multiprocessors: 1 }
  vi.spyOn(native, 'machine').mockReturnValue({ ...machine, cuda: 1, devices: [card] })
  const load = LocalModel.load.bind(LocalModel)
  vi.spyOn(LocalModel, 'load').mockImplementation((async (directory: string, options: LoadOptions<Role>) => {
    const { role, device, dtype, ...rest } = options
    loaded.push({ role, device, dtype })
    if (stopAtLoading) throw new InputError('seen')
    return load(directory, { ...rest, ...(role ? { role } : {}) })
  }) as typeof LocalModel.load)
})

const devices = (): (string | undefined)[] => loaded.map(({ device }) => device)

test('auto is a GPU where there is one, and the CPU where there is none', () => {
  const card = { name: 'a card', totalBytes: 1, capability: '9.0', multiprocessors: 1 }
  expect(resolveDevice('auto', { available: true, devices: [card] })).toBe('cuda')
  expect(resolveDevice('auto', { available: true, devices: [] })).toBe('cpu')
  expect(resolveDevice('auto', { available: false, devices: [] })).toBe('cpu')
  expect(resolveDevice('cuda:1', { available: false, devices: [] })).toBe('cuda:1')
})

describe('every verb runs its models on the GPU where there is one', () => {
  const rows = jsonl([{ prompt: 'a', response: 'b' }], 'rows')
  const output = fresh('out.jsonl')
  test.each<[string, () => string[]]>([
    ['generate', () => ['--model', base, '--input', jsonl([{ ids: [1] }], 'ids'), '--output', output]],
    ['score', () => ['--model', base, '--input', rows, '--output', output]],
    ['chat', () => ['--model', base]],
    ['serve', () => ['--model', base, '--port', '0']],
    ['eval', () => ['--model', base, '--data', rows, '--reward', judge, '--max-new-tokens', '2']],
    ['reward', () => ['test', '--reward', rewards, '--input', rows]],
  ])('%s', async (verb, args) => {
    stopAtLoading = true
    expect(await main([verb, ...args()])).toBe(1)
    expect(devices()).toEqual(['cuda'])
  })

  test('and on the CPU where that is asked for', async () => {
    stopAtLoading = true
    expect(await main(['generate', '--model', base, '--device', 'cpu', '--input', rows, '--output', output])).toBe(1)
    expect(await main(['reward', 'test', '--reward', rewards, '--device', 'cpu', '--input', rows])).toBe(1)
    expect(devices()).toEqual(['cpu', 'cpu'])
  })
})

test('experience: the actor, the reference and reward models', async () => {
  const config = join(folder, 'experience.yaml')
  const prompts = jsonl([{ prompt: 'Hi' }], 'prompts')
  const models = { model: base, reference: base, rewards, output: fresh('out.jsonl') }
  const small = { data: prompts, maxNewTokens: 2, advantageEstimator: 'reinforce' }
  writeFileSync(config, JSON.stringify({ ...models, ...small }))
  expect(await main(['experience', '--config', config])).toBe(0)
  expect(loaded.map(({ role }) => role).sort()).toEqual(['language', 'language', 'reward'])
  expect(new Set(devices())).toEqual(new Set(['cuda']))
})

describe('rl', () => {
  const run = async (description: object, settings: string[]): Promise<Loaded> => {
    const own = join(folder, 'own-rewards.yaml')
    writeFileSync(own, JSON.stringify({ sources: { judge: { type: 'model', path: judge, ...description } } }))
    const config = join(folder, 'rl.yaml')
    const data = jsonl([{ prompt: 'Hi' }], 'prompts')
    const small = { iterations: 1, rolloutBatchSize: 1, nSamplesPerPrompt: 2, maxNewTokens: 2 }
    writeFileSync(config, JSON.stringify({ model: base, data, rewards: own, output: fresh('run'), ...small }))
    stopAtLoading = true
    expect(await main(['rl', '--config', config, ...settings.flatMap(one => ['--set', one])])).toBe(1)
    expect(loaded).toHaveLength(1)
    return loaded[0]!
  }
  test.each<[string, object, string[], Partial<Loaded>]>([
    ["the run's device", {}, [], { device: 'cuda', dtype: undefined }],
    ["the run's dtype", {}, ['dtype=float16'], { device: 'cuda', dtype: 'float16' }],
    ['a device of its own', { device: 'cpu' }, ['dtype=float16'], { device: 'cpu', dtype: undefined }],
    ['a dtype of its own', { dtype: 'float32' }, ['dtype=float16'], { device: 'cuda', dtype: 'float32' }],
    ["the run's, on the CPU", {}, ['device=cpu'], { device: 'cpu', dtype: undefined }],
  ])('a reward model has %s', async (_, description, settings, expected) => {
    expect(await run(description, settings)).toEqual({ role: 'reward', ...expected })
  })
})

describe('evaluateModel', () => {
  test.each([
    ['the directory of a reward model', () => judge],
    ['a description with a reward model', () => rewards],
  ])('%s', async (_, reward) => {
    const data = jsonl([{ prompt: 'Hi' }], 'prompts')
    await evaluateModel({ model: base, reference: base, data, reward: reward(), maxNewTokens: 2 })
    expect(loaded).toHaveLength(3)
    expect(new Set(devices())).toEqual(new Set(['cuda']))
  })
})

test('a pipeline: all models of all stages', async () => {
  const pipeline = await pipelineOf({ device: 'auto', ppoIterations: 1 })
  await pipeline.runFullPipeline()
  expect(new Set(loaded.map(({ role }) => role))).toEqual(new Set(['language', 'reward', 'value']))
  expect(new Set(devices())).toEqual(new Set(['cuda']))
})
