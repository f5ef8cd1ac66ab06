/**
 * Every pair of options together with images and videos, on the engine of this process and on a server: a run that is stopped in the
 * middle, refused while a picture of it is another, resumed and replayed.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { replayRl } from '../../../src/train/rl/index.js'
import { atEnd } from '../../support/at-end.js'
import { coveredOptions, type Factor, type Options } from '../../support/covered-options.js'
import { fresh, jsonLines, written } from '../../support/files.js'
import { finalWeights, metricLines, start } from '../../support/rl.js'
import { pictureFolder, rowsBeside, squarePng, visionDirectory } from '../../support/vision-task.js'
import { generatorAt, startWeightServer } from '../../support/weight-server.js'

const model = await visionDirectory(1)
const { folder, names } = await pictureFolder(5)
const [a, b, c, d, e] = names.map(({ name }) => name)
const film = { frames: [b, c, d], fps: 2 }
const text = { prompt: 'Say something' }
const rowsOf = {
  images: [a, b, c, d, e].map((name, nr) => ({ prompt: `Which colour ${nr}?`, images: [name] })),
  several: [
    text,
    { prompt: 'Compare <image> and <image>', images: [a, b] },
    { prompt: 'See', images: [c, d, e] },
    text,
  ],
  videos: [
    { prompt: 'What happens?', videos: [film] },
    text,
    { prompt: 'And now?', images: [a], videos: [film] },
    text,
  ],
}
const dataOf = (kind: keyof typeof rowsOf): Options => ({ data: rowsBeside(folder, rowsOf[kind], kind) })
const held = rowsBeside(folder, [{ prompt: 'Which one?', images: [e] }, text], 'held')

/** Sees the media, and differs between the samples of most prompts. */
const reward = written(
  'reward.mjs',
  `export default ({ response, sample, images = [], videos = [] }) =>
  images.length > 1 ? 1 : response.length / 8 + sample / 3 + (images[0]?.pixels[0] ?? 0) / 1000 + videos.length\n`,
)
/** Away at first, and at every third request. */
let asked = 0
const far = createServer(async (request, response) => {
  const parts: Buffer[] = []
  for await (const part of request) parts.push(part as Buffer)
  const { queries } = JSON.parse(Buffer.concat(parts).toString()) as { queries: string[] }
  if (asked++ % 3 === 0) return response.writeHead(503).end()
  return response
    .setHeader('content-type', 'application/json')
    .end(JSON.stringify({ rewards: queries.map(query => query.length % 7) }))
})
await new Promise<void>(resolve => far.listen(0, '127.0.0.1', resolve))
atEnd(() => {
  far.closeAllConnections()
  far.close()
})
const farReward = written(
  'far.yaml',
  `sources: { far: { type: remote, dialect: lightrft, url: "http://127.0.0.1:${(far.address() as AddressInfo).port}" } }\n`,
)

const factors: readonly Factor[] = [
  { name: 'engine', levels: { local: {}, server: { remote: true } } },
  { name: 'rows', levels: { images: dataOf('images'), several: dataOf('several'), videos: dataOf('videos') } },
  { name: 'staleness', levels: { none: {}, one: { maxStaleness: 1, tisCap: 2 } } },
  { name: 'dynamic sampling', levels: { off: {}, on: { dynamicSampling: true } } },
  { name: 'sleep', levels: { off: {}, on: { enableEngineSleep: true } } },
  { name: 'adapter', levels: { none: {}, LoRA: { lora: { rank: 2 } } } },
  { name: 'packing', levels: { on: {}, off: { packingSamples: false } } },
  { name: 'dtype', levels: { float32: {}, bfloat16: { dtype: 'bfloat16' } } },
  { name: 'tower', levels: { trained: {}, frozen: { freezeVision: 'all' } } },
  { name: 'rewards', levels: { function: {}, away: { rewards: farReward, rewardPatienceMinutes: 1 } } },
  { name: 'evaluation', levels: { off: {}, on: { validationData: held, evaluation: { every: 1 } } } },
  { name: 'trajectories', levels: { off: {}, on: { saveTrajectories: true } } },
  { name: 'sampling', levels: { plain: {}, FIRE: { useFire: true, firstTokenTemperature: 1.5 } } },
  { name: 'critic', levels: { none: {}, PPO: { algorithm: 'ppo', critic: { optimizer: { lr: 1e-3 } } } } },
]

const base: Options = {
  ...{ algorithm: 'grpo', model, rewards: reward, chatTemplate: 'auto', device: 'cpu', seed: 3 },
  ...{ iterations: 2, rolloutBatchSize: 2, nSamplesPerPrompt: 2, maxNewTokens: 5, saveSteps: 1 },
  optimizer: { lr: 1e-2 },
}

/** The config of a run; `url` of its server. */
function configOf({ remote, ...options }: Options, url: string): Options {
  return remote ? { ...options, generator: generatorAt(url) } : options
}
const { rows, refused, missing } = coveredOptions(factors, base, options => configOf(options, 'http://127.0.0.1:1'))

test('every pair is in a row, or refused for a known reason', () => {
  expect(missing).toEqual([])
  expect(refused).toEqual(['engine and staleness', 'staleness and sleep'])
})

describe('rows', () => {
  test.each(rows)('%s', async (_, options) => {
    const server = options.remote ? await startWeightServer(model, options) : undefined
    try {
      const output = fresh('run')
      const config = { ...configOf(options, server?.url ?? ''), output }
      expect((await start(config, { stopAt: 'updating' })).outcome).toBe('stopped')
      const [{ name: picture }] = jsonLines(join(output, 'media/files.jsonl')) as [{ name: string }]
      const before = readFileSync(picture)
      writeFileSync(picture, await squarePng('blue', 9))
      await expect(start(config, { resume: true })).rejects.toThrow('changed, or gone, since the run read it')
      writeFileSync(picture, before)
      expect((await start(config, { resume: true })).outcome).toBe('finished')
      for (const { values } of metricLines(output)) expect(values['drops/generation: media'] ?? 0).toBe(0)
      expect(finalWeights(output).equals(finalWeights(model, '.'))).toBe(false)
      expect(await replayRl(output)).toMatchObject({ iterations: 2, mismatches: [] })
    } finally {
      await server?.close()
    }
  })
})
