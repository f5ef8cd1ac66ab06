/** A run goes on with what it was started with: models, tokenizers, chat templates, rewards and what they import. */
import { cpSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { cp, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { LocalModel } from '../../../src/model/index.js'
import { Run } from '../../../src/run/index.js'
import { fresh } from '../../support/files.js'
import { finalWeights, modelDirectory, promptFile, quickly, start } from '../../support/rl.js'
import { flipBit } from '../../support/run.js'

const model = await modelDirectory(8, { layers: 1 })
const copyOf = (directory: string): string => {
  const copy = fresh('copy')
  cpSync(directory, copy, { recursive: true })
  return copy
}
const [reference, critic] = [copyOf(model), copyOf(model)]

const rewardFolder = fresh('rewards')
mkdirSync(rewardFolder)
const rewardModel = join(rewardFolder, 'rm')
const scorer = await LocalModel.load(model, { role: 'reward', device: 'cpu' })
await scorer.export(rewardModel, { what: 'model' })
scorer.dispose()
const put = (name: string, text: string): string => {
  writeFileSync(join(rewardFolder, name), text)
  return join(rewardFolder, name)
}
put(
  'vowels.mjs',
  `import { letters } from './letters.mjs'\nexport default ({ response }) => [...response].filter(one => letters.includes(one)).length\n`,
)
const letters = put('letters.mjs', `export const letters = 'aeiou'\n`)
const rewards = put(
  'rewards.yaml',
  `sources:\n  vowels: { type: function, file: vowels.mjs }\n  quality: { type: model, path: rm }\nweights: { vowels: 1, quality: 0.1 }\n`,
)
put('other.txt', 'nothing to do with it')

const base = quickly({
  ...{ model, reference, rewards, data: promptFile(4), algorithm: 'ppo', nSamplesPerPrompt: 2, maxNewTokens: 4 },
  ...{ updateEpochs: 1, trainBatchSize: 4, critic: { model: critic, optimizer: { lr: 1e-3 } } },
})
const whole = fresh('run')
await start({ ...base, output: whole })
const begun = fresh('run')
await start({ ...base, output: begun, iterations: 1 })

const weightsIn = (directory: string): (() => void) => {
  const file = join(directory, 'model.safetensors')
  const at = statSync(file).size - 40
  return () => flipBit(file, at)
}
/** Writes another text, and what was there the next time. */
const edited = (file: string, text: string): (() => void) => {
  let [now, next] = [readFileSync(file, 'utf8'), text]
  return () => {
    ;[now, next] = [next, now]
    writeFileSync(file, now)
  }
}
const config = join(model, 'tokenizer_config.json')
const withTemplate = JSON.stringify({ ...JSON.parse(readFileSync(config, 'utf8')), chat_template: '{{ messages }}' })

const changes: readonly [string, string, string, () => void][] = [
  ["the model's weights", 'model', 'model.safetensors', weightsIn(model)],
  ['its chat template', 'model', 'tokenizer_config.json', edited(config, withTemplate)],
  ['the reference', 'reference', 'model.safetensors', weightsIn(reference)],
  ['the critic', 'critic.model', 'model.safetensors', weightsIn(critic)],
  ['a reward model', 'rewards', 'rm/model.safetensors', weightsIn(rewardModel)],
  ['what a reward imports', 'rewards', 'letters.mjs', edited(letters, `export const letters = 'xyz'\n`)],
  ['weights of rewards', 'rewards', 'rewards.yaml', edited(rewards, `${readFileSync(rewards, 'utf8')}# another\n`)],
]

test.each(changes)('%s changed: refused with old and new, and allowed by name', async (_, option, file, change) => {
  const output = fresh('run')
  await cp(begun, output, { recursive: true })
  const { config: before } = await Run.read(output)
  const old = before.inputs![option]![file]!
  change()
  try {
    await expect(start({ ...base, output }, { resume: true })).rejects.toMatchObject({
      message: expect.stringMatching(
        new RegExp(
          `options or inputs of the run have changed:\n  ${option} ${file}: was "${old}", is now "[0-9a-f]{64}"$`,
        ),
      ),
      remedy: expect.stringContaining(`--allow-change ${option}.`),
    })
    await start({ ...base, output }, { resume: true, allowChange: [option] })
  } finally {
    change()
  }
  const { config: after, journal } = await Run.read(output)
  const recorded = { key: `${option} ${file}`, from: old, to: after.inputs![option]![file]! }
  expect(recorded.to).not.toBe(old)
  expect(after.changes.at(-1)).toMatchObject(recorded)
  const records = (await journal.read(1)).map(({ record }) => record)
  expect(records.find(({ kind }) => kind === 'changes')).toMatchObject({ changes: [recorded] })
  expect(await readFile(join(output, 'logs/events.jsonl'), 'utf8')).toContain(JSON.stringify(recorded))
})

test('nothing changed: the run goes on to the same bits; a file beside the rewards is none of them', async () => {
  put('other.txt', 'another text')
  const output = fresh('run')
  await cp(begun, output, { recursive: true })
  await start({ ...base, output }, { resume: true })
  expect(finalWeights(output).equals(finalWeights(whole))).toBe(true)
})
