/**
 * Every pair of options together on two ranks: the samples and weights of one process; stopped in the middle and resumed, with two ranks to
 * the same bits or with one process; replayed whole.
 */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Ranks } from '../../src/distributed/index.js'
import { LocalModel } from '../../src/model/index.js'
import { replayRl } from '../../src/train/rl/index.js'
import { expectClose } from '../support/close.js'
import { coveredOptions, type Factor, type Options } from '../support/covered-options.js'
import { samplesOf } from '../support/distributed.js'
import { fresh, jsonl, written } from '../support/files.js'
import { finalWeights, type StartOptions, start } from '../support/rl.js'
import { pictureFolder, rowsBeside, visionDirectory } from '../support/vision-task.js'
import { generatorAt, startWeightServer } from '../support/weight-server.js'

const model = await visionDirectory(1, { context: 256 })
const judged = await LocalModel.load(model, { role: 'reward', seed: 3 })
const judge = fresh('judge')
await judged.export(judge, { what: 'model' })
judged.dispose()
const { folder, names } = await pictureFolder(4)
const text = [0, 1, 2, 3, 4].map(nr => ({ prompt: `Question ${nr}:`, nr }))
const pictures = text.map((row, i) => (i === 1 ? row : { ...row, images: [names[i % 4]!.name] }))
const held = jsonl([{ prompt: 'Held out:', nr: 1 }], 'held')

/** Different for the samples of a prompt; of every third prompt the same, so that dynamic sampling has something to drop. */
const reward = written(
  'reward.mjs',
  `export default ({ response, sample, row }) => (row.nr % 3 === 0 ? 1 : response.length / 8 + sample / 3)\n`,
)
const modelReward = written('rewards.yaml', `sources: { judge: { type: model, path: ${judge} } }\n`)
const environment = written(
  'environment.mjs',
  `export default { name: 'two turns', version: '1', open: async ({ messages }, { sample }) => ({
  start: async () => messages,
  step: async ({ turn, text }) => turn === 1
    ? { kind: 'done', reward: sample + text.length / 10 }
    : { kind: 'go-on', messages: [{ role: 'user', content: 'More.' }], reward: text.length / 20 },
}) }
`,
)
const loss = written(
  'loss.ts',
  `import { z } from 'zod'
import { defineLoss } from 'whetstone'
export default defineLoss({
  kind: 'policy',
  name: 'soft',
  description: 'ratios without clipping',
  options: z.object({ scale: z.number().positive().default(1) }),
  loss: ({ length, ratios, advantages, coefficients, gradient }, { scale }) => {
    let value = 0
    for (let t = 0; t < length; t++) {
      gradient[t] = -scale * coefficients[t]! * ratios[t]! * advantages[t]!
      value += gradient[t]!
    }
    return value
  },
})
`,
)

const factors: readonly Factor[] = [
  { name: 'rows', levels: { text: {}, images: { data: rowsBeside(folder, pictures) } } },
  { name: 'turns', levels: { one: {}, environment: { environment, rewards: undefined, episode: { turnTokens: 3 } } } },
  { name: 'optimiser', levels: { whole: {}, divided: { optimizer: { lr: 1e-3, eps: 1e-3, shard: true } } } },
  {
    name: 'adapter',
    levels: {
      none: {},
      LoRA: { lora: { rank: 2, dropout: 0.2 } },
      'LoRA alone': { lora: { rank: 2 }, keep: 'adapters' },
    },
  },
  { name: 'average', levels: { none: {}, EMA: { emaDecay: 0.5 } } },
  { name: 'sleep', levels: { off: {}, on: { enableEngineSleep: true } } },
  { name: 'dynamic sampling', levels: { off: {}, on: { dynamicSampling: true } } },
  { name: 'staleness', levels: { none: {}, one: { maxStaleness: 1, tisCap: 2 } } },
  { name: 'loss', levels: { preset: {}, own: { loss, lossOptions: { scale: 2 } } } },
  {
    name: 'critic',
    levels: { none: {}, PPO: { algorithm: 'ppo', critic: { optimizer: { lr: 1e-3, eps: 1e-3, shard: true } } } },
  },
  { name: 'rewards', levels: { function: {}, model: { rewards: modelReward } } },
  { name: 'engine', levels: { 'of each rank': {}, server: { remote: true } } },
  { name: 'dtype', levels: { float32: {}, bfloat16: { dtype: 'bfloat16' } } },
  { name: 'layers', levels: { kept: {}, recomputed: { gradientCheckpointing: true, tokenBudget: 64 } } },
  { name: 'evaluation', levels: { off: {}, on: { validationData: held, evaluation: { every: 1 } } } },
  { name: 'loggers', levels: { TensorBoard: {}, none: { loggers: [] } } },
  { name: 'resumed with', levels: { 'two ranks': {}, 'one process': { fewer: true } } },
]

const base: Options = {
  ...{ algorithm: 'grpo', model, data: jsonl(text), rewards: reward, chatTemplate: 'auto', device: 'cpu', seed: 3 },
  ...{ iterations: 2, rolloutBatchSize: 2, nSamplesPerPrompt: 2, maxNewTokens: 6, saveSteps: 1 },
  optimizer: { lr: 1e-3, eps: 1e-3 },
}
function configOf({ remote, fewer: _, ...options }: Options, url: string): Options {
  return remote ? { ...options, generator: generatorAt(url) } : options
}
// What a loss or an environment is, is known when the files are loaded.
const { rows, refused, missing } = coveredOptions(factors, base, options => ({
  ...configOf(options, 'http://127.0.0.1:1'),
  loss: undefined,
  lossOptions: undefined,
}))

test('every pair is in a row, or refused for a known reason', () => {
  expect(missing).toEqual([])
  expect(refused).toEqual(['sleep and staleness', 'staleness and engine'])
})

async function run(options: Options, output: string, rest: StartOptions = {}): Promise<string> {
  const server = options.remote ? await startWeightServer(model, options) : undefined
  try {
    const config = { ...configOf(options, server?.url ?? ''), output }
    expect((await start(config, rest)).outcome).toBe(rest.stopAt === undefined ? 'finished' : 'stopped')
    return output
  } finally {
    await server?.close()
  }
}

/** Files of weights that a run ended with. */
function weightFiles(output: string): string[] {
  const models = readdirSync(output).filter(name => /_(model|adapter)$/.test(name))
  const files = ['model.safetensors', 'adapter_model.safetensors']
  return models.flatMap(name => files.map(file => join(name, file))).filter(file => existsSync(join(output, file)))
}

/** Of a file of float32 alone. */
function numbersIn(file: string): Float32Array {
  const bytes = readFileSync(file)
  const start = 8 + Number(bytes.readBigUInt64LE(0))
  return new Float32Array(bytes.buffer.slice(bytes.byteOffset + start, bytes.byteOffset + bytes.length))
}

let ranks: Ranks
beforeAll(async () => {
  ranks = await Ranks.of({ device: 'cpu', devices: 2 })
})
afterAll(() => ranks.close())

describe('rows', () => {
  test.each(rows)('%s', { timeout: 120_000 }, async (_, options) => {
    const two = await run(options, fresh('two'), { ranks })
    const files = weightFiles(two)
    expect(files.length).toBeGreaterThan(0)
    const expectClosely = (found: string, expected: string): void => {
      expect(weightFiles(found)).toEqual(weightFiles(expected))
      for (const file of files)
        expectClose(
          numbersIn(join(found, file)),
          numbersIn(join(expected, file)),
          options.data === base.data ? 1e-5 : 1e-4,
          file,
        )
    }
    // Which weights a rollout ahead of its turn sees depends on time; sums of 16 bits depend on what is summed together.
    const repeats = options.maxStaleness === undefined
    const compared = repeats && options.dtype === undefined
    if (compared) {
      const one = await run(options, fresh('one'))
      expect(samplesOf(two)).toEqual(samplesOf(one))
      expectClosely(two, one)
    }
    const again = await run(options, fresh('again'), { ranks, stopAt: 'updating' })
    await run(options, again, { resume: true, ...(!options.fewer && { ranks }) })
    if (repeats && !options.fewer)
      for (const file of files)
        expect(readFileSync(join(again, file)).equals(readFileSync(join(two, file))), file).toBe(true)
    else if (compared) expectClosely(again, two)
    if (options.lora === undefined) expect(finalWeights(two).equals(finalWeights(model, '.'))).toBe(false)
    for (const output of [two, again]) expect(await replayRl(output)).toMatchObject({ iterations: 2, mismatches: [] })
  })
})
