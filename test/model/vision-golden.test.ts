import { afterAll, describe, expect, test } from 'vitest'
import { type FreezeVision, LocalModel } from '../../src/model/index.js'
import { scope } from '../../src/tensor/index.js'
import { expectClose } from '../support/close.js'
import { readVisionCase, releasedSpelling, visionFamilies } from '../support/vision-models.js'

const argmax = (values: Float32Array): number =>
  values.reduce((best, value, i) => (value > values[best]! ? i : best), 0)

describe.each(visionFamilies)('%s', async name => {
  const { directory, golden, pixels, sequences, responses } = await readVisionCase(name)
  const model = await LocalModel.load(directory, { role: 'language' })
  const released = await LocalModel.load(releasedSpelling(name), { role: 'language' })
  afterAll(() => {
    model.dispose()
    released.dispose()
  })

  test('rows of the tower', async () => {
    const items = [...pixels.keys()]
    const [features, ...deep] = await model.vision!.rows([...pixels.values()], { gradients: false })
    const { out } = model.config.decoder.vision!
    const values = await features!.data<'float32'>()
    let row = 0
    for (const item of items) {
      const expected = golden.vision[item]!
      const count = golden.media[item]!.tokens
      const at = (i: number) => values.subarray((row + i) * out, (row + i + 1) * out)
      expectClose(at(0).subarray(0, expected.first_row.length), expected.first_row, 1e-4, item)
      expectClose(at(count - 1).subarray(0, expected.last_row.length), expected.last_row, 1e-4, item)
      const sums = Array.from({ length: count }, (_, i) => at(i).reduce((sum, value) => sum + value, 0))
      expectClose(sums, expected.row_sums, 1e-3, item)
      row += count
    }
    for (const tensor of [features!, ...deep]) tensor.dispose()
    expect(deep.length).toBe(golden.vision.image0!.deepstack_row_sums?.length ?? 0)
  })

  test.each(['on', 'off'] as const)('log-probabilities and entropies, packing %s', async packing => {
    for (const one of [model, released]) {
      const scores = await one.score(sequences, { entropy: true, packing })
      for (const [i, { logprobs, entropies }] of scores.entries()) {
        expectClose(logprobs, golden.rows[i]!.token_logprobs, 1e-4, `row ${i}`)
        expectClose(entropies!, golden.rows[i]!.entropy.slice(0, logprobs.length), 1e-4, `row ${i}`)
      }
    }
  })

  test('last logits', async () => {
    for (const one of [model, released]) {
      const logits = await one.nextLogits(sequences)
      for (const [i, row] of logits.entries()) {
        expectClose(row.subarray(0, 256), golden.rows[i]!.last_logits_first256, 1e-4, `row ${i}`)
        expect(argmax(row)).toBe(golden.rows[i]!.argmax.at(-1))
      }
    }
  })

  test.each([
    ['train', 'kept'],
    ['train', 'recomputed'],
    ['train_frozen_vision', 'kept'],
  ] as const)('three AdamW steps: %s, activations %s', async (kind, activations) => {
    const expected = golden[kind]
    const trained = await LocalModel.load(directory, {
      role: 'language',
      gradientCheckpointing: activations === 'recomputed',
      optimizer: { weightDecay: 0.01 },
      ...(kind === 'train_frozen_vision' && { freezeVision: 'all' satisfies FreezeVision }),
    })
    const tokens = golden.rows.reduce((sum, row) => sum + row.ids.length - row.prompt_length, 0)
    for (const [step, wanted] of expected.losses.entries()) {
      let loss = 0
      await trained.forwardBackward(responses, outputs =>
        outputs.map(({ logprobs }) => {
          for (const value of logprobs) loss -= value / tokens
          return { logprobs: new Float32Array(logprobs.length).fill(-1 / tokens) }
        }),
      )
      expect(Math.abs(loss - wanted)).toBeLessThan(1e-4)
      if (step === 0) {
        const norms = scope(
          () => new Map([...trained.gradients()].map(([key, gradient]) => [key, gradient.norm().item()])),
        )
        const names = Object.keys(golden.train.grad_norms_step0)
        const wanted = kind === 'train' ? names : names.filter(key => !/^(model\.)?visual\./.test(key))
        expect([...norms.keys()].sort()).toEqual(wanted.sort())
        for (const [key, norm] of Object.entries(expected.grad_norms_step0))
          expect(Math.abs(norms.get(key)! / norm - 1), key).toBeLessThan(1e-3)
      }
      const { norm } = await trained.step({ lr: 1e-3 })
      if (step === 0) expect(Math.abs(norm / expected.global_grad_norm_step0 - 1)).toBeLessThan(1e-3)
    }
    const logits = await trained.nextLogits(responses)
    for (const [i, row] of expected.after_3_steps_last_logits_first64.entries())
      expectClose(logits[i]!.subarray(0, 64), row, 1e-3, `row ${i}`)
    trained.dispose()
  })
})
