/** The estimate with images against what a tiny vision-language model takes on the CPU: a trained tower, a frozen one, a scoring pass. */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { LocalModel, parseConfig } from '../../src/model/index.js'
import { type MediaPixels, type Sequence, supervisedSequence } from '../../src/sequence/index.js'
import { memoryUse } from '../../src/tensor/index.js'
import { largestBatch } from '../../src/train/checks/largest-batch.js'
import { estimateModel, type PlannedModel } from '../../src/train/checks/memory-estimate.js'
import { planRows } from '../../src/train/checks/plan.js'
import { sftSchema } from '../../src/train/sft/config.js'
import { fixture } from '../support/models.js'
import type { VisionName } from '../support/vision-models.js'

interface Case {
  readonly family: VisionName
  readonly side: number
  readonly trained?: PlannedModel['trained']
  readonly freezeVision?: 'tower' | 'merger' | 'all'
  readonly gradientCheckpointing?: boolean
}

const cases: readonly Case[] = [
  { family: 'qwen2_5_vl', side: 16 },
  { family: 'qwen2_vl', side: 16 },
  { family: 'qwen3_vl', side: 16 },
  { family: 'qwen2_5_vl', side: 32, gradientCheckpointing: true },
  { family: 'qwen2_5_vl', side: 16, freezeVision: 'all' },
  { family: 'qwen3_vl', side: 16, freezeVision: 'tower' },
  { family: 'qwen2_vl', side: 16, freezeVision: 'merger' },
  { family: 'qwen2_5_vl', side: 32, trained: 'nothing' },
]
const images = 4

/** The family's tiny model with a tower of six wider blocks. */
function wider(family: VisionName) {
  const raw = JSON.parse(readFileSync(join(fixture(family), 'config.json'), 'utf8'))
  const width = family === 'qwen2_vl' ? { embed_dim: 96, mlp_ratio: 3 } : { hidden_size: 96, intermediate_size: 288 }
  const vision = { ...raw.vision_config, ...width, depth: 6, num_heads: 4 }
  return parseConfig({ ...raw, vision_config: vision }, family)
}

/** Sequences with one image of `side` x `side` patches each, and 16 tokens of text. */
function sequences(side: number, patch: number, pass: number): Sequence[] {
  return Array.from({ length: images }, (_, i) => {
    const count = side ** 2 / 4
    const ids = Int32Array.from({ length: count + 18 }, (_, t) => 20 + ((t * 7 + i) % 100))
    ids.fill(5, 1, 1 + count)
    const frames = new Uint8Array((side * patch) ** 2 * 3).fill(40 * i)
    const pixels: MediaPixels = { kind: 'image', hash: `${pass} ${i}`, frames, grid: [1, side, side] }
    const trained = new Uint8Array(ids.length).fill(1, 1 + count)
    return supervisedSequence({
      ids,
      trained,
      promptId: `${i}`,
      row: {},
      media: [{ pixels, runs: [{ start: 1, count }] }],
    })
  })
}

test.each(cases)('%j', async one => {
  const { family, side, trained = 'weights', freezeVision, gradientCheckpointing = false } = one
  const config = wider(family)
  const start = memoryUse().bytes
  const model = await LocalModel.create<'language'>(config, {
    ...{ role: 'language', seed: 0, tokenBudget: 8192, gradientCheckpointing },
    ...(freezeVision ? { freezeVision } : {}),
  })
  // Every pass has images of its own, as the steps of a run have.
  const given = [0, 1, 2].map(pass => sequences(side, config.decoder.vision!.patch, pass))
  const [rows] = given as [Sequence[]]
  const pass = async (which: number): Promise<void> => {
    if (trained === 'nothing') await model.score(given[which]!)
    else
      await model.forwardBackward(given[which]!, outputs =>
        outputs.map(({ logprobs }) => ({ logprobs: new Float32Array(logprobs.length).fill(0.1) })),
      )
  }
  try {
    await pass(0)
    if (trained !== 'nothing') await model.step({ lr: 1e-3 })
    memoryUse('cpu', { resetPeak: true })
    await pass(1)
    await pass(2)
    const real = memoryUse().peakBytes - start
    const tokens = rows.reduce((sum, { ids }) => sum + ids.length, 0)
    const patches = images * side ** 2
    const estimate = estimateModel({
      ...{
        name: 'model',
        config: config.decoder,
        head: 'language',
        device: 'cpu',
        dtype: 'float32',
        trained,
        freezeVision,
      },
      ...{
        gradientCheckpointing,
        tokens,
        longest: rows[0]!.ids.length,
        sequences: images,
        outputs: images * 17,
        patches,
        images: 3 * patches,
      },
    })
    expect(estimate.total / real).toBeGreaterThan(0.85)
    expect(estimate.total / real).toBeLessThan(1.15)
  } finally {
    model.dispose()
  }
})

test('the largest batch counts the images of a group once, and keeps to the budget of patches where the tower is trained', () => {
  const plan = planRows(sftSchema.parse({ model: 'm', data: 'd', output: 'o', batchSize: 4 }), {
    kind: 'conversations',
    role: 'language',
  })
  const rows = Array.from({ length: 8 }, () => ({ tokens: 50, outputs: 10, patches: 100 }))
  const limits = { context: 256, tokenBudget: 1000 }
  expect(largestBatch(plan, limits, rows)).toMatchObject({ sequences: 4, patches: 400, images: 800 })
  expect(largestBatch(plan, { ...limits, patchBudget: 250 }, rows)).toMatchObject({ sequences: 2, patches: 200 })
  const generation = {
    samples: 8,
    samplesPerPrompt: 4,
    promptMaxLen: 100,
    promptTruncation: 'left',
    maxNewTokens: 10,
  } as const
  const sampled = { ...plan, sequences: 8, generation: { ...generation, engine: 'here' as const } }
  expect(largestBatch(sampled, limits, rows)).toMatchObject({ sequences: 8, patches: 200, images: 800 })
})
