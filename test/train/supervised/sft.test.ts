import { describe, expect, test } from 'vitest'
import { sftSchema } from '../../../src/train/sft/config.js'
import { runSft } from '../../../src/train/sft/job.js'
import { fresh, jsonl } from '../../support/files.js'
import { jobOf, randomOf, rotated } from '../../support/supervised.js'
import { modelDirectory } from '../../support/tiny-model.js'

const colours = ['red', 'blue', 'green', 'black', 'white', 'grey', 'brown', 'pink']
const things = ['door', 'roof', 'sky', 'hat', 'bird', 'fish', 'book', 'tree']

/** What no model can know before it has seen it: each thing's two colours, by a seed. */
function facts(seed: number): { prompt: string; completion: string }[] {
  const random = randomOf(seed)
  const colour = () => colours[Math.floor(random() * colours.length)]!
  return things.map(thing => ({ prompt: `The ${thing}?`, completion: `${colour()} ${thing} ${colour()}` }))
}

const settings = { epochs: 60, batchSize: 8, optimizer: { lr: 1e-2 }, saveSteps: 1000, evalSteps: 20 }

describe('SFT memorises', () => {
  // Of tokens that are each one of about eight, a model that knows nothing but their form has a perplexity well above this.
  const margin = 1.15
  const held = async (seed: number, rows: (all: ReturnType<typeof facts>) => ReturnType<typeof facts>) => {
    const all = facts(seed)
    const config = sftSchema.parse({
      ...settings,
      model: await modelDirectory(seed),
      data: jsonl(rows(all)),
      validationData: jsonl(all),
      output: fresh('run'),
      seed,
    })
    const { best } = await runSft(jobOf(config))
    return best!.value
  }

  test.each([1, 2, 3])(`seed %i: below a perplexity of ${margin} on what it was taught`, async seed => {
    expect(await held(seed, rows => rows)).toBeLessThan(margin)
  })

  test('control: taught the answers to other questions, it is not', async () => {
    const other = (rows: ReturnType<typeof facts>) => {
      const answers = rotated(rows.map(row => row.completion))
      return rows.map((row, i) => ({ ...row, completion: answers[i]! }))
    }
    expect(await held(1, other)).toBeGreaterThan(margin)
  })
})
