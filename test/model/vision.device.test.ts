/** Models with a vision tower on a device: recorded numbers, and an engine whose log-probabilities are `score`'s. */
import { describe, expect, test } from 'vitest'
import { LocalModel } from '../../src/model/index.js'
import { LocalEngine } from '../../src/rollout/local/engine.js'
import { device, onCuda } from '../support/device.js'
import { collect } from '../support/generation.js'
import { readVisionCase, visionFamilies } from '../support/vision-models.js'

// The CPU's float32 numbers are held to a tighter bound in vision-golden.test.ts.
const dtypes = [
  ...(onCuda ? [{ dtype: 'float32' as const, allowed: 1e-3 }] : []),
  { dtype: 'bfloat16' as const, allowed: 0.5 },
]
const farthest = (a: ArrayLike<number>, b: ArrayLike<number>): number =>
  Array.from(a).reduce((most, value, i) => Math.max(most, Math.abs(value - b[i]!)), 0)

describe.each(visionFamilies.flatMap(name => dtypes.map(given => ({ name, ...given }))))(
  '$name in $dtype',
  async ({ name, dtype, allowed }) => {
    const { directory, golden, sequences, responses } = await readVisionCase(name)

    test('log-probabilities and the losses of three training steps', async () => {
      const model = await LocalModel.load(directory, {
        role: 'language',
        device,
        dtype,
        optimizer: { weightDecay: 0.01 },
      })
      for (const packing of ['on', 'off'] as const)
        for (const [i, { logprobs }] of (await model.score(sequences, { packing })).entries())
          expect(farthest(logprobs, golden.rows[i]!.token_logprobs), `row ${i}`).toBeLessThan(allowed)
      const tokens = golden.rows.reduce((sum, row) => sum + row.ids.length - row.prompt_length, 0)
      for (const [step, expected] of golden.train.losses.entries()) {
        let loss = 0
        await model.forwardBackward(responses, outputs =>
          outputs.map(({ logprobs }) => {
            for (const value of logprobs) loss -= value / tokens
            return { logprobs: new Float32Array(logprobs.length).fill(-1 / tokens) }
          }),
        )
        expect(Math.abs(loss - expected), `loss ${step}: ${loss} for ${expected}`).toBeLessThan(allowed)
        await model.step({ lr: 1e-3 })
      }
      model.dispose()
    })

    test('rows of images and text, packed and padded; a frozen tower computes each image once', async () => {
      const whole = await LocalModel.load(directory, { role: 'language', device, dtype })
      const frozen = await LocalModel.load(directory, { role: 'language', device, dtype, freezeVision: 'all' })
      const all = new Map(
        sequences.flatMap(({ media }) => media.map(({ pixels }) => [pixels.hash, pixels.grid] as const)),
      )
      const patches = [...all.values()].reduce((sum, [t, h, w]) => sum + t * h * w, 0)
      const before = await frozen.score(sequences, { packing: 'on' })
      const losses: number[][] = [[], []]
      for (const [k, model] of [whole, frozen].entries())
        for (const packing of ['on', 'off'] as const)
          await model.forwardBackward(
            responses,
            outputs => {
              for (const { logprobs } of outputs) losses[k]!.push(...logprobs)
              return outputs.map(({ logprobs }) => ({ logprobs: new Float32Array(logprobs.length).fill(-1e-3) }))
            },
            { packing },
          )
      expect(farthest(losses[1]!, losses[0]!)).toBeLessThan(allowed)
      const tower = (model: typeof whole) => model.vision!.computedPatches / patches
      expect(tower(frozen)).toBe(1)
      expect(tower(whole)).toBeGreaterThanOrEqual(2)
      await frozen.step({ lr: 1e-3 })
      const after = await frozen.score(sequences)
      expect(tower(frozen)).toBe(1)
      expect(after).not.toEqual(before)
      whole.dispose()
      frozen.dispose()
    })

    // Generation on CUDA is in 16 bits.
    const generates = dtype === 'bfloat16'
    test.runIf(generates)('an engine gives the log-probabilities of score, with prompts in chunks too', async () => {
      const model = await LocalModel.load(directory, { role: 'language', device, dtype })
      for (const tokenBudget of [1024, 9]) {
        const engine = new LocalEngine(model, { eosIds: [], tokenBudget })
        const requests = golden.rows.map(({ prompt_length }, row) => ({
          id: `${row}`,
          promptIds: sequences[row]!.ids.slice(0, prompt_length),
          media: sequences[row]!.media,
          n: 2,
          sampling: { seed: 1, maxNewTokens: 12 },
        }))
        for (const { requestId, promptIds, responseIds, logprobs } of (await collect(engine, requests)).values()) {
          const ids = Int32Array.of(...promptIds, ...responseIds)
          const trained = new Uint8Array(ids.length).fill(1, promptIds.length)
          const [scored] = await model.score([{ ...sequences[Number(requestId)]!, ids, trained }])
          expect(farthest(logprobs.raw!, scored!.logprobs), `row ${requestId}`).toBeLessThan(allowed)
        }
        await engine.close()
      }
      model.dispose()
    })
  },
)
