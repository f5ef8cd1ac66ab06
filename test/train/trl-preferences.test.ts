/** Losses on pairs, held against those of TRL's trainer: through a model, with the gradient of all its weights. */
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { type PreferenceLossOptions, preferenceLoss } from '../../src/maths/index.js'
import { LocalModel } from '../../src/model/index.js'
import { sumLogprobs } from '../../src/train/preference/reference-logprobs.js'
import { fixture, temporary } from '../support/models.js'

interface Answer {
  ids: number[]
  from: number
}
interface Recorded {
  versions: Record<string, string>
  cases: {
    lossType: 'sigmoid' | 'ipo'
    beta: number
    value: number
    gradientNorm: number
    pairs: { chosen: Answer; rejected: Answer }[]
  }[]
}
const recorded: Recorded = JSON.parse(
  readFileSync(new URL('../fixtures/trl-preferences.json', import.meta.url), 'utf8'),
)
const optionsOf = { sigmoid: { loss: 'dpo' }, ipo: { loss: 'ipo' } } as const

/** All weights of the policy have a gradient in TRL: the adapter is part of them. */
async function mergedModel(): Promise<string> {
  const directory = temporary('merged')
  const model = await LocalModel.load(fixture('qwen2'), { role: 'language', adapter: fixture('qwen2-lora') })
  await model.export(directory, { what: 'model' })
  model.dispose()
  return directory
}

test('the fixture says what it was recorded from', () => {
  expect(recorded.versions.trl).toBe('1.16.0')
})

test.each(recorded.cases)('$lossType with beta $beta', async ({ lossType, beta, value, gradientNorm, pairs }) => {
  const policy = await LocalModel.load(await mergedModel(), { role: 'language' })
  const answers = pairs.flatMap(({ chosen, rejected }) => [chosen, rejected])
  const sequences = answers.map(({ ids }) => Int32Array.from(ids))
  const from = answers.map(answer => answer.from)
  const base = await LocalModel.load(fixture('qwen2'), { role: 'language' })
  const ref = (await base.score(sequences, { from })).map(({ logprobs }) => sumLogprobs(logprobs))
  base.dispose()
  const options: PreferenceLossOptions = { ...optionsOf[lossType], beta }
  let found = 0
  await policy.forwardBackward(
    sequences,
    (outputs, indices) => {
      const samples = indices.flatMap((at, i) => {
        if (at % 2 === 1) return []
        const [chosen, rejected] = [outputs[i]!.logprobs, outputs[i + 1]!.logprobs]
        return {
          policyChosen: sumLogprobs(chosen),
          policyRejected: sumLogprobs(rejected),
          refChosen: ref[at]!,
          refRejected: ref[at + 1]!,
          chosenTokens: chosen.length,
          rejectedTokens: rejected.length,
        }
      })
      const result = preferenceLoss({ samples, totals: { pairs: pairs.length }, options })
      found += result.value
      const slopes = result.gradients.flatMap(({ policyChosen, policyRejected }) => [policyChosen, policyRejected])
      return outputs.map(({ logprobs }, k) => ({ logprobs: new Float32Array(logprobs.length).fill(slopes[k]!) }))
    },
    { from, groupSize: 2 },
  )
  const { norm } = await policy.step({ lr: 0 })
  policy.dispose()
  expect(Math.abs(found - value)).toBeLessThan(1e-5 * Math.max(1, value))
  expect(Math.abs(norm - gradientNorm)).toBeLessThan(1e-4 * gradientNorm)
})
