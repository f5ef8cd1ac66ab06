/**
 * transformers loads what a training of a vision-language model writes: the model, an adapter beside its base, and the adapter merged, with
 * equal log-probabilities. Needs a Python with torch, transformers and peft: WHETSTONE_CLIENTS_PYTHON (default python3).
 */
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { describe, expect, test } from 'vitest'
import { LocalModel } from '../../src/model/index.js'
import { expectClose } from '../support/close.js'
import { fresh } from '../support/files.js'
import { weights } from '../support/models.js'
import { readVisionCase, visionFamilies } from '../support/vision-models.js'

const python = process.env.WHETSTONE_CLIENTS_PYTHON ?? 'python3'
const isHere = spawnSync(python, ['-c', 'import torch, transformers, peft'], { stdio: 'ignore' }).status === 0
if (!isHere) console.log(`${python} has no torch, transformers and peft: exports were not loaded with transformers.`)

/** Text, one image, two images, a JPEG, and an image with another answer. */
const rows = [0, 1, 2, 3, 6]
const adapter = { rank: 4, alpha: 8, dropout: 0, targets: ['q_proj', 'v_proj', 'down_proj'] as const, seed: 3 }

describe.runIf(isHere)('transformers', () => {
  test.each(visionFamilies)(
    '%s: trained weights, an adapter, and the adapter merged',
    async name => {
      const { directory, golden, sequences, responses } = await readVisionCase(name)
      const trained = async (options: object) => {
        const model = await LocalModel.load<'language'>(directory, { role: 'language', ...options })
        for (let step = 0; step < 2; step++) {
          await model.forwardBackward(responses, (outputs, indices) =>
            outputs.map(({ logprobs }, k) => ({ logprobs: weights(indices[k]!, logprobs.length) })),
          )
          await model.step({ lr: 1e-2 })
        }
        const scored = await model.score(rows.map(i => sequences[i]!))
        return { model, expected: scored.map(({ logprobs }) => logprobs) }
      }
      const [whole, adapted] = [await trained({}), await trained({ adapter })]
      const [full, merged, beside] = [fresh('full'), fresh('merged'), fresh('adapter')]
      await whole.model.export(full, { what: 'model' })
      await adapted.model.export(merged, { what: 'model' })
      await adapted.model.export(beside, { what: 'adapter' })
      for (const at of [full, merged]) expect(existsSync(join(at, 'preprocessor_config.json'))).toBe(true)
      whole.model.dispose()
      adapted.model.dispose()
      const asked = {
        models: [{ directory: full }, { directory: merged }, { directory, adapter: beside }],
        media: join(directory, 'media.safetensors'),
        rows: rows.map(i => {
          const { ids, position_ids: positions, media } = golden.rows[i]!
          const items = media.map(item => ({ name: item, grid: golden.media[item]!.grid_thw }))
          return { ids, positions, media: items }
        }),
      }
      const script = fileURLToPath(new URL('transformers-vision.py', import.meta.url))
      const { status, stdout, stderr } = spawnSync(python, [script], { input: JSON.stringify(asked), encoding: 'utf8' })
      expect(status, stderr).toBe(0)
      const answers = JSON.parse(stdout.trim().split('\n').at(-1)!) as number[][][]
      const expected = [whole.expected, adapted.expected, adapted.expected]
      const start = rows.map(i => golden.rows[i]!.token_logprobs)
      for (const [k, model] of answers.entries())
        for (const [i, logprobs] of model.entries()) {
          expectClose(logprobs, expected[k]![i]!, 1e-4)
          // Training moved them: the files of the start would not pass.
          expect(Math.max(...logprobs.map((value, t) => Math.abs(value - start[i]![t]!)))).toBeGreaterThan(1e-2)
        }
    },
    120_000,
  )
})
