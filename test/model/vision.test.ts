import { afterAll, describe, expect, test } from 'vitest'
import { planBatches } from '../../src/model/batch.js'
import { LocalModel, type ModelInput } from '../../src/model/index.js'
import { asRead, type Sequence, trainedCount, withUnread } from '../../src/sequence/index.js'
import { expectClose } from '../support/close.js'
import { expectSameGradients, takeGradients, weights } from '../support/models.js'
import { readVisionCase, visionFamilies } from '../support/vision-models.js'

const isVision = (name: string): boolean => /^(model\.)?visual\./.test(name)

async function gradientsOf(
  model: LocalModel<'language'>,
  given: readonly ModelInput[],
  options: { packing?: 'on' | 'off'; offset?: number } = {},
) {
  const { offset = 0, packing = 'on' } = options
  await model.forwardBackward(
    given,
    (outputs, indices) =>
      outputs.map(({ logprobs }, k) => ({ logprobs: weights(indices[k]! + offset, logprobs.length) })),
    { packing },
  )
  return takeGradients(model)
}

describe.each(visionFamilies)('%s', async name => {
  const { directory, golden, sequences, responses } = await readVisionCase(name)
  const model = await LocalModel.load(directory, { role: 'language' })
  afterAll(() => model.dispose())
  const patches = (row: number) =>
    sequences[row]!.media.reduce((sum, { pixels: { grid } }) => sum + grid[0] * grid[1] * grid[2], 0)

  test('packed = padded = one by one, values and gradients', async () => {
    const packed = await model.score(sequences, { entropy: true })
    const padded = await model.score(sequences, { entropy: true, packing: 'off' })
    for (const [i, sequence] of sequences.entries()) {
      const [single] = await model.score([sequence], { entropy: true })
      for (const other of [packed[i]!, padded[i]!]) {
        expectClose(other.logprobs, single!.logprobs, 1e-5)
        expectClose(other.entropies!, single!.entropies!, 1e-5)
      }
    }
    for (const [i, sequence] of responses.entries()) {
      await model.forwardBackward([sequence], ([output]) => [{ logprobs: weights(i, output!.logprobs.length) }])
    }
    const alone = await takeGradients(model)
    for (const packing of ['on', 'off'] as const)
      expectSameGradients(await gradientsOf(model, responses, { packing }), alone, 1e-5)
  })

  test("a neighbour's image cannot be seen, and text has the bits it has without images", async () => {
    const [text, first, second, third] = [0, 1, 2, 5].map(i => responses[i]!) as [
      Sequence,
      Sequence,
      Sequence,
      Sequence,
    ]
    const changed = {
      ...second,
      media: second.media.map(({ pixels, runs }) => ({
        pixels: { ...pixels, hash: `${pixels.hash}, inverted`, frames: pixels.frames.map(value => 255 - value) },
        runs,
      })),
    }
    for (const packing of ['on', 'off'] as const) {
      const before = await model.score([text, first, second, third], { packing })
      const after = await model.score([text, first, changed, third], { packing })
      for (const i of [0, 1, 3]) expect(after[i], `${i}`).toEqual(before[i])
      expect(after[2]).not.toEqual(before[2])
    }
    expect(await model.score([text])).toEqual(await model.score([text.ids], { from: golden.rows[0]!.prompt_length }))
  })

  test('a batch of text does not touch the tower', async () => {
    const before = model.vision!.computedPatches
    const gradients = await gradientsOf(model, [responses[0]!])
    expect(model.vision!.computedPatches).toBe(before)
    expect([...gradients.keys()].filter(isVision)).toEqual([])
  })

  test('samples of a prompt share one pass of the tower, and its gradient is their sum', async () => {
    // Rows 1 and 6 are two answers to one prompt.
    const before = model.vision!.computedPatches
    const together = await gradientsOf(model, [responses[1]!, responses[6]!])
    expect(model.vision!.computedPatches - before).toBe(patches(1))
    await model.forwardBackward([responses[1]!], ([output]) => [{ logprobs: weights(0, output!.logprobs.length) }])
    await model.forwardBackward([responses[6]!], ([output]) => [{ logprobs: weights(1, output!.logprobs.length) }])
    expectSameGradients(together, await takeGradients(model), 1e-5)
  })

  test('the embedding of a placeholder gets no gradient', async () => {
    const gradients = await gradientsOf(model, responses)
    const [, table] = [...gradients].find(([key]) => key.endsWith('embed_tokens.weight'))!
    const { hidden, tiedEmbeddings } = model.config.decoder
    // A tied table also makes logits, and every row has a gradient by that way.
    if (tiedEmbeddings) return
    for (const id of [5, 6])
      expect(table.subarray(id * hidden, (id + 1) * hidden).every(value => value === 0)).toBe(true)
  })

  test('a frozen tower computes each image once; gradients are those of the whole', async () => {
    const whole = await gradientsOf(model, responses)
    const all = new Set(sequences.flatMap(({ media }) => media.map(({ pixels }) => pixels)))
    const total = [...all].reduce((sum, { grid }) => sum + grid[0] * grid[1] * grid[2], 0)
    for (const freezeVision of ['all', 'tower', 'merger'] as const) {
      const frozen = await LocalModel.load(directory, { role: 'language', freezeVision })
      const found = await gradientsOf(frozen, responses)
      const merger = /visual\.(merger|deepstack_merger_list)\./
      const trained = (key: string) =>
        !isVision(key) ||
        (freezeVision === 'tower' && merger.test(key)) ||
        (freezeVision === 'merger' && !merger.test(key))
      expectSameGradients(found, new Map([...whole].filter(([key]) => trained(key))), 1e-5)
      await frozen.forwardBackward(responses, outputs =>
        outputs.map(({ logprobs }) => ({ logprobs: new Float32Array(logprobs.length).fill(-0.01) })),
      )
      await frozen.step({ lr: 1e-3 })
      await frozen.score(sequences)
      if (freezeVision !== 'merger') expect(frozen.vision!.computedPatches).toBe(total)
      frozen.dispose()
    }
  })

  test('a trained tower is computed again after a step', async () => {
    const trained = await LocalModel.load(directory, { role: 'language' })
    const before = await trained.score([sequences[1]!])
    await trained.forwardBackward([responses[1]!], ([output]) => [
      { logprobs: new Float32Array(output!.logprobs.length).fill(-0.1) },
    ])
    await trained.step({ lr: 1e-2 })
    const [after] = await trained.score([sequences[1]!])
    const again = await LocalModel.load(directory, { role: 'language' })
    await again.copyFrom(trained)
    expect(after).not.toEqual(before[0])
    expect((await again.score([sequences[1]!]))[0]).toEqual(after)
    trained.dispose()
    again.dispose()
  })

  test('media and placeholders that do not fit are refused', async () => {
    const [, one, two] = sequences
    const refused = async (sequence: Sequence, why: RegExp) => expect(model.score([sequence])).rejects.toThrow(why)
    await refused({ ...one!, media: [] }, /placeholders of images, and images for 0/)
    await refused({ ...two!, media: two!.media.slice(1) }, /placeholders of images, and images for/)
    await refused({ ...sequences[0]!, media: one!.media }, /should be a placeholder of image/)
    const [item] = one!.media
    const short = { ...item!, runs: [{ ...item!.runs[0]!, count: item!.runs[0]!.count - 1 }] }
    await refused({ ...one!, media: [short] }, /has \d+ tokens, and its runs \d+/)
    const cut = { ...item!, pixels: { ...item!.pixels, frames: item!.pixels.frames.subarray(3) } }
    await refused({ ...one!, media: [cut] }, /not whole frames/)
    // The same places twice: the sum over the sequence would be right.
    const [first, second] = two!.media
    await refused({ ...two!, media: [second!, first!] }, /begins before the one before it ends/)
    const twice = { ...first!, pixels: second!.pixels, runs: second!.runs }
    await refused({ ...two!, media: [twice, second!] }, /begins before the one before it ends/)
    const [{ start, count }] = item!.runs as [{ start: number; count: number }]
    const split = {
      ...item!,
      runs: [
        { start, count: 2 },
        { start: start + 2, count: count - 2 },
      ],
    }
    await refused(
      { ...one!, media: [split] },
      /\(prompt row 1\): the image with grid .* has 1 runs of \d+ tokens, got runs of 2, \d+/,
    )
    // A placeholder of the other kind.
    const other = { ...one!, ids: one!.ids.slice() }
    other.ids[other.ids.length - 1] = golden.token_ids['<|video_pad|>']!
    await refused(other, /1 placeholders of videos, and videos for 0/)
  })

  test('tokens that are not read have no row: outputs and gradients of all others are those without them', async () => {
    const pad = golden.token_ids['<|image_pad|>']!
    const given = responses[2]!
    const first = given.trained.indexOf(1)
    // Placeholders without an image inside the response and at its end, as another engine may sample them.
    const at = [first + 1, given.ids.length + 1]
    const ids = [...given.ids]
    for (const place of at) ids.splice(place, 0, pad)
    const added = <T>(values: Uint8Array, value: number) => {
      const list = [...values]
      for (const place of at) list.splice(place, 0, value)
      return Uint8Array.from(list) as T
    }
    const foreign: Sequence = {
      ...given,
      ids: Int32Array.from(ids),
      origin: added(given.origin, 1),
      trained: added(given.trained, 1),
    }
    await expect(model.score([foreign])).rejects.toThrow('placeholders of images')
    const masked = withUnread(foreign, at)
    expect([...masked.ids]).toEqual(ids)
    expect(trainedCount(masked)).toBe(trainedCount(given))
    const text = responses[0]!
    const [plain, repaired] = [await model.score([given, text]), await model.score([masked, text])]
    expect(repaired).toEqual(plain)
    const [expected, found] = [await gradientsOf(model, [given, text]), await gradientsOf(model, [masked, text])]
    expectSameGradients(found, expected, 1e-7)
    expect(asRead(masked)).toEqual(given)
  })
})

test('batches have a budget of patches; what sequences have in common counts once', () => {
  const of = (i: number) => [{ hash: `${Math.floor(i / 2)}`, patches: 40 }]
  const plans = planBatches([9, 9, 9, 9, 9, 9], { tokenBudget: 1000, packing: 'on', patches: { budget: 80, of } })
  expect(plans.map(({ sequences }) => sequences)).toEqual([
    [0, 1, 2, 3],
    [4, 5],
  ])
  const alone = planBatches([9, 9, 9], {
    tokenBudget: 1000,
    packing: 'on',
    patches: { budget: 10, of: i => of(2 * i) },
  })
  expect(alone.map(({ sequences }) => sequences)).toEqual([[0], [1], [2]])
})
