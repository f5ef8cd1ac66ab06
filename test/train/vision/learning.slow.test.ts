/**
 * Whether it sees: after an SFT that teaches the form of the answer alone, GRPO has to find the colour of a square in the pictures, and name
 * the colours of pictures that it was not trained on. Where every picture goes with every target there is nothing to find.
 */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { generate } from '../../../src/index.js'
import { replayRl } from '../../../src/train/index.js'
import { sftSchema } from '../../../src/train/sft/config.js'
import { runSft } from '../../../src/train/sft/job.js'
import { runCrashing } from '../../support/child.js'
import { compiledRoom } from '../../support/compiled.js'
import { fresh, written } from '../../support/files.js'
import { finalWeights, metricLines, quickly, start } from '../../support/rl.js'
import { jobOf } from '../../support/supervised.js'
import { rowsBeside, squarePng, visionDirectory } from '../../support/vision-task.js'

const among = ['red', 'blue'] as const
const folder = fresh('pictures')
mkdirSync(folder)
/** Of each place both colours, or the place would tell the colour. */
async function pictures(kind: string, places: readonly (readonly [number, number])[]) {
  const made = places.flatMap((place, nr) =>
    among.map(async (colour, i) => {
      const name = `${kind}-${nr}-${colour}.png`
      writeFileSync(join(folder, name), await squarePng(colour, (kind === 'train' ? 0 : 101) + 2 * nr + i, place))
      return { name, colour }
    }),
  )
  return Promise.all(made)
}
const everyPlace = Array.from({ length: 64 }, (_, i) => [(i * 5) % 8, (i * 3 + Math.floor(i / 8)) % 8] as const)
const names = await pictures('train', everyPlace.slice(0, 24))
/** Not trained on: squares at other places, on other greys. */
const heldOut = await pictures('held-out', everyPlace.slice(48))
const prompt = 'Which colour?'
/** Each colour has each answer equally often. */
const unrelated = (i: number) => among[Math.floor(i / 2) % 2]!
const fileOf = (name: string, more: (colour: string, i: number) => object): string =>
  rowsBeside(
    folder,
    names.map(({ name, colour }, i) => ({ prompt, images: [name], ...more(colour, i) })),
    name,
  )
const form = fileOf('form', (_, i) => ({ completion: unrelated(i) }))
const seen = fileOf('seen', target => ({ target }))
/** Every picture with every target: there is nothing to remember either. */
const shuffled = rowsBeside(
  folder,
  names.flatMap(({ name }) => among.map(target => ({ prompt, images: [name], target }))),
  'shuffled',
)
const rewards = written('colour.json', JSON.stringify({ sources: { colour: { type: 'rule', rule: 'exact-match' } } }))

async function taught(seed: number): Promise<string> {
  const output = fresh('sft')
  const optimizer = { lr: 1e-2, schedule: 'constant', warmupRatio: 0 }
  const model = await visionDirectory(seed)
  const config = {
    model,
    data: form,
    output,
    epochs: 12,
    batchSize: 6,
    optimizer,
    seed,
    device: 'cpu',
    saveSteps: 1000,
  }
  await runSft(jobOf(sftSchema.parse(config)))
  return `${output}/final_model`
}

const optionsOf = (model: string, data: string, seed: number): Readonly<Record<string, unknown>> =>
  quickly({
    ...{ model, data, rewards, seed, output: fresh('run'), chatTemplate: 'auto' },
    ...{ iterations: 36, rolloutBatchSize: 16, nSamplesPerPrompt: 8, maxNewTokens: 4, saveSteps: 8 },
    optimizer: { lr: 5e-3, schedule: 'linear' },
    klController: { kind: 'fixed', coef: 0 },
  })

const rewardsOf = (output: unknown) => metricLines(output as string).map(({ values }) => values['reward/mean']!)
const mean = (values: readonly number[]) => values.reduce((sum, value) => sum + value, 0) / values.length

/** The share of pictures whose colour the model names, without chance; its first token is no end, as in the training. */
async function rightOf(model: string, shown: readonly { name: string; colour: string }[]): Promise<number> {
  const data = shown.map(({ name }) => ({ prompt, images: [join(folder, name)] }))
  let [right, at] = [0, 0]
  for await (const { text } of generate({
    model,
    data,
    temperature: 0,
    minNewTokens: 1,
    maxNewTokens: 4,
    device: 'cpu',
  }))
    if (text?.trim() === shown[at++]!.colour) right++
  return right / shown.length
}

const seeds = [1, 2, 3]
const models = new Map<number, string>()

test.each(seeds)(
  'seed %i learns what the pictures show',
  async seed => {
    const model = await taught(seed)
    models.set(seed, model)
    const options = optionsOf(model, seen, seed)
    expect((await start(options)).outcome).toBe('finished')
    const earned = rewardsOf(options.output)
    expect(earned[0]).toBeLessThan(0.7)
    expect(mean(earned.slice(-4))).toBeGreaterThan(0.75)
    expect(await rightOf(`${options.output}/final_model`, heldOut)).toBeGreaterThan(0.9)
  },
  120_000,
)

test.each(seeds)(
  'seed %i finds nothing in pictures that go with every target',
  async seed => {
    const options = { ...optionsOf(models.get(seed)!, shuffled, seed), iterations: 12, output: fresh('run') }
    await start(options)
    expect(mean(rewardsOf(options.output).slice(-4))).toBeLessThan(0.65)
  },
  120_000,
)

test('killed in the middle, it goes on to the same bits', async () => {
  const model = models.get(1)!
  const short = (output: string) => ({ ...optionsOf(model, seen, 1), iterations: 3, saveSteps: 1, output })
  const [whole, broken] = [fresh('whole'), fresh('broken')]
  await start(short(whole))
  const script = new URL('../rl/children/small-rl.mjs', import.meta.url)
  const child = await runCrashing(script, [compiledRoom('train'), JSON.stringify(short(broken))], {
    CRASH_UNDER: broken,
    CRASH_AT: '120',
  })
  expect(child.signal).toBe('SIGKILL')
  await start(short(broken), { resume: true })
  expect(finalWeights(broken).equals(finalWeights(whole))).toBe(true)
  expect(await replayRl(broken)).toMatchObject({ iterations: 3, mismatches: [], notCompared: [] })
}, 120_000)
