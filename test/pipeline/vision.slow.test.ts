/** SFT, a reward model and PPO on a vision-language model: every stage reads the images of its rows. */
import { existsSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { stringify } from 'yaml'
import { run } from '../../src/cli/pipeline.js'
import { readConfig } from '../../src/model/index.js'
import { replayRl, replaySupervised } from '../../src/train/index.js'
import { capturedOutput } from '../support/cli.js'
import { fresh } from '../support/files.js'
import { pipelineOf, quickly, weightsOf } from '../support/pipeline.js'
import { metricLines } from '../support/rl.js'
import { colours, pictureFolder, rowsBeside, visionDirectory } from '../support/vision-task.js'

const printed = capturedOutput()
const prompt = 'Which colour?'

/** Pictures, with rows for each stage beside them; a row of each stage has no picture. */
async function world() {
  const { folder, names } = await pictureFolder(7)
  const other = (colour: string) => Object.keys(colours).find(one => one !== colour)!
  const rows = (name: string, of: (colour: string) => object, text: object) =>
    rowsBeside(folder, [...names.map(one => ({ images: [one.name], ...of(one.colour) })), text], name)
  const options = {
    baseModel: await visionDirectory(4),
    sftDataPath: rows('sft', completion => ({ prompt, completion }), { prompt: 'Hello', completion: 'Hi' }),
    rewardDataPath: rows('pairs', chosen => ({ prompt, chosen, rejected: other(chosen) }), {
      ...{ prompt: 'Hello', chosen: 'Hi', rejected: 'No' },
    }),
    ppoDataPath: rows('prompts', () => ({ prompt }), { prompt: 'Hello' }),
    validationShare: 0.25,
  }
  return { folder, options }
}

test('createRlhfPipeline: each stage continues the model with its tower and processor; replayed = live', async () => {
  const { folder, options } = await world()
  const saveDir = fresh('out')
  const report = await (await pipelineOf({ ...options, saveDir })).runFullPipeline()
  expect(Object.values(report.stages).map(stage => stage?.outcome)).toEqual(['finished', 'finished', 'finished'])
  for (const model of ['sft/best_model', 'reward_model/best_model', 'ppo/final_model']) {
    const at = join(saveDir, model)
    expect((await readConfig(at)).decoder.vision, model).toBeDefined()
    expect(existsSync(join(at, 'preprocessor_config.json')), model).toBe(true)
    expect(weightsOf(at).equals(weightsOf(options.baseModel))).toBe(false)
  }
  // Policy and reward model saw pictures: rows of PPO have their placeholders.
  const lengths = metricLines(join(saveDir, 'ppo')).flatMap(({ values }) => values['length/prompt'] ?? [])
  expect(Math.min(...lengths)).toBeGreaterThan(10)
  expect(await replaySupervised(join(saveDir, 'sft'))).toMatchObject({ mismatches: [], notCompared: [] })
  rmSync(folder, { recursive: true })
  expect(await replayRl(join(saveDir, 'ppo'))).toMatchObject({ mismatches: [], notCompared: [] })
})

test('whetstone pipeline: a dry run names every stage; the run makes the models', async () => {
  const { options } = await world()
  const file = `${fresh('pipeline')}.yaml`
  const config = quickly({ ...options, ppoIterations: 1 })
  writeFileSync(file, stringify(config))
  expect(await run(['--config', file, '--dry-run'])).toBe(0)
  for (const stage of ['sft', 'reward', 'ppo']) expect(printed.stdout).toContain(`# stage ${stage}`)
  expect(await run(['--config', file])).toBe(0)
  expect(existsSync(join(config.saveDir!, 'ppo/final_model/preprocessor_config.json'))).toBe(true)
})

test('a model of text says which row has an image, before the first stage', async () => {
  const { options } = await world()
  const { baseModel: _, ...text } = options
  const saveDir = fresh('out')
  await expect((async () => (await pipelineOf({ ...text, saveDir })).runFullPipeline())()).rejects.toThrow(
    /sft\.jsonl:1: .*this chat template takes only text/,
  )
})
