/** Every part that a program may make itself really takes its place. */
import { cpSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { losses } from '../../src/maths/index.js'
import { LocalModel } from '../../src/model/index.js'
import { directoryFingerprint } from '../../src/pipeline/fingerprints.js'
import type { PipelineOptions, PipelineSettings } from '../../src/pipeline/index.js'
import { Tokenizer } from '../../src/text/index.js'
import { fresh, jsonl } from '../support/files.js'
import { base, filesOf, modelDirectory, pipelineOf, preferences, weightsOf } from '../support/pipeline.js'
import { tokenizer, tokenizerPath } from '../support/tokenizers.js'

test('loadTokenizer: its files go with every model, and its chat template is what is trained on', async () => {
  const own = fresh('tokenizer')
  cpSync(tokenizerPath, own, { recursive: true })
  const template =
    '{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}{% if add_generation_prompt %}<assistant>{% endif %}'
  writeFileSync(join(own, 'chat_template.jinja'), template)
  const plain = await (await pipelineOf()).runSft()
  const pipeline = await pipelineOf({ samplePrompts: ['hi'] }, { loadTokenizer: () => Tokenizer.load(own) })
  const made = await pipeline.runSft()
  expect(readFileSync(join(made.model, 'chat_template.jinja'), 'utf8')).toBe(template)
  expect(weightsOf(made.model).equals(weightsOf(plain.model))).toBe(false)
})

test('loadBaseModel: a directory, or an object that is written and disposed', async () => {
  const other = await modelDirectory(9)
  const fromDirectory = await (await pipelineOf({ baseModel: other })).runSft()
  const asDirectory = await pipelineOf({ baseModel: undefined }, { loadBaseModel: async () => other })
  expect(filesOf((await asDirectory.runSft()).model)).toEqual(filesOf(fromDirectory.model))
  const asArgument = await pipelineOf({ baseModel: undefined })
  expect(filesOf((await asArgument.runSft({ baseModel: other })).model)).toEqual(filesOf(fromDirectory.model))
  let object: LocalModel<'language'> | undefined
  const asObject = await pipelineOf(
    { baseModel: undefined, tokenizerPath },
    {
      loadBaseModel: async ({ tokenizer }) => {
        expect(tokenizer?.dir).toBe(tokenizerPath)
        object = await LocalModel.load(other, { role: 'language' })
        return object
      },
    },
  )
  const { model } = await asObject.runSft()
  expect(weightsOf(model).equals(weightsOf(fromDirectory.model))).toBe(true)
  await expect(object!.score([new Int32Array([1, 2])])).rejects.toThrow()
})

test('tokenizerPath: its chat template counts, and a model without a tokenizer gets it', async () => {
  const own = fresh('tokenizer')
  cpSync(tokenizerPath, own, { recursive: true })
  writeFileSync(join(own, 'chat_template.jinja'), '{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}')
  const checked = async (options: Partial<PipelineOptions>) =>
    (await (await pipelineOf(options)).check({ stages: ['sft'] }))[0]!.models.tokenizer
  expect((await checked({ tokenizerPath: own })).hasChatTemplate).toBe(true)
  const without = fresh('bare')
  mkdirSync(without)
  for (const name of ['config.json', 'model.safetensors']) cpSync(join(base, name), join(without, name))
  await expect(checked({ baseModel: without })).rejects.toThrow(/tokenizer.json: not found/)
  expect((await checked({ baseModel: without, tokenizerPath: own })).vocabSize).toBe(tokenizer.vocabSize)
})

test('a model directory of links is a model, as the hub keeps them', async () => {
  const links = fresh('links')
  mkdirSync(links)
  for (const name of readdirSync(base)) symlinkSync(join(base, name), join(links, name))
  expect(await directoryFingerprint(links)).toBe(await directoryFingerprint(base))
})

test('a random start is asked for by its shape, and by nothing else', async () => {
  const pipeline = await pipelineOf({ baseModel: { family: 'qwen2', size: '2m', seed: 3 }, tokenizerPath })
  const checked = await pipeline.check({ stages: ['sft', 'reward', 'ppo'] })
  expect(checked.map(({ stage }) => stage)).toEqual(['sft', 'reward', 'ppo'])
  expect(checked[0]!.models.models[0]!.config.decoder.hidden).toBe(128)
  await expect(pipelineOf({ baseModel: { family: 'qwen2', size: '2m' } })).rejects.toThrow(/tokenizerPath: missing/)
})

test('createRewardModel: reward training begins with it', async () => {
  const { model: sftModel } = await (await pipelineOf()).runSft()
  const options = { sftModel, freezeRewardBackbone: true }
  const plain = await (await pipelineOf(options)).runRewardTraining()
  let given = ''
  const extended = await pipelineOf(options, {
    createRewardModel: async context => {
      given = context.sftModel
      return LocalModel.load(context.sftModel, { role: 'reward', seed: 77 })
    },
  })
  const made = await extended.runRewardTraining()
  expect(given).toBe(sftModel)
  expect(weightsOf(made.model).equals(weightsOf(plain.model))).toBe(false)
  // A directory does too, and goes on where it was.
  const goneOn = await pipelineOf(options, { createRewardModel: async () => made.model })
  expect((await goneOn.runRewardTraining()).outcome).toBe('finished')
  // One that reads other tokens than the policy would score nonsense.
  const other = await modelDirectory(4, { vocabSize: 100 })
  const wrong = await pipelineOf(options, { createRewardModel: async () => other })
  await expect(wrong.runRewardTraining()).rejects.toThrow(/createRewardModel: .*vocabulary of 100/)
})

test('createPreferenceLoss: another loss trains another model, and the same one the same', async () => {
  const { model: sftModel } = await (await pipelineOf()).runSft()
  const plain = await (await pipelineOf({ sftModel })).runRewardTraining()
  const same = await pipelineOf(
    { sftModel },
    {
      createPreferenceLoss:
        ({ centerCoef }) =>
        call =>
          losses['reward-model'].compute({ ...call, options: { centerCoef } }),
    },
  )
  expect(weightsOf((await same.runRewardTraining()).model).equals(weightsOf(plain.model))).toBe(true)
  const upside = await pipelineOf(
    { sftModel },
    {
      createPreferenceLoss: () => call => {
        const { value, gradients, statistics } = losses['reward-model'].compute({ ...call, options: {} })
        const turned = gradients.map(({ chosen, rejected }) => ({ chosen: -chosen, rejected: -rejected }))
        return { value: -value, gradients: turned, statistics }
      },
    },
  )
  const turned = await upside.runRewardTraining()
  expect(turned.metrics['loss/train']).toBeLessThan(0)
  expect(weightsOf(turned.model).equals(weightsOf(plain.model))).toBe(false)
  // Another function is another input: the stage is run again.
  const changed = await pipelineOf(
    { sftModel, saveDir: upside.config.saveDir },
    { createPreferenceLoss: () => call => losses['reward-model'].compute({ ...call, options: { margin: 1 } }) },
  )
  expect((await changed.runRewardTraining()).outcome).toBe('finished')
})

test('what a function gives is looked at, and a misspelt one is named', async () => {
  const wrong = <T>(value: unknown): T => value as T
  await expect(pipelineOf({}, wrong({ loadTokeniser: () => tokenizer }))).rejects.toThrow(
    'there is no setting "loadTokeniser"; did you mean loadTokenizer?',
  )
  const sft = async (settings: PipelineSettings) => (await pipelineOf({}, settings)).runSft()
  await expect(sft({ loadBaseModel: async () => wrong(42) })).rejects.toThrow(/^loadBaseModel: expected the directory/)
  await expect(sft({ loadTokenizer: async () => wrong('tok') })).rejects.toThrow(/^loadTokenizer: expected a Tokenizer/)
  const reward = async (settings: PipelineSettings) =>
    (await pipelineOf({ sftModel: base }, settings)).runRewardTraining()
  await expect(reward({ createRewardModel: async () => wrong(undefined) })).rejects.toThrow(
    'createRewardModel: expected the directory of a model, or a LocalModel; got undefined',
  )
  await expect(reward({ createPreferenceLoss: () => () => wrong(3) })).rejects.toThrow(
    /^createPreferenceLoss: expected \{value, gradients, statistics\}/,
  )
})

const labelled = preferences.flatMap(({ prompt, chosen, rejected }) => [
  { prompt, completion: chosen, label: true },
  { prompt, completion: rejected, label: false },
])

test.each([
  ['dpo', {}, ['sft', 'ppo']],
  ['kto', { rewardDataPath: jsonl(labelled, 'labelled') }, ['sft', 'ppo']],
  ['grpo', { ppo: { nSamplesPerPrompt: 2 }, ppoIterations: 1 }, ['sft', 'reward', 'ppo']],
] as const)('algorithm %s in place of what it replaces', async (algorithm, options, stages) => {
  const pipeline = await pipelineOf({ algorithm, ...options })
  const result = await pipeline.runFullPipeline()
  expect(result.stages.map(({ stage, outcome }) => [stage, outcome])).toEqual(stages.map(stage => [stage, 'finished']))
  expect(result.model).toBe(join(pipeline.config.saveDir, algorithm, 'final_model'))
  expect(await pipeline.generateSample('1 + 1?')).toBeTypeOf('string')
})
