/** Losses, estimators, presets and generators of a user in runs: recorded, replayed and resumed as ours are. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { replay } from '../../src/index.js'
import {
  loadDefinition,
  loadDefinitions,
  replayRl,
  replaySupervised,
  silentReport,
  type Training,
  trainings,
} from '../../src/train/index.js'
import { fresh, written } from '../support/files.js'
import { finalWeights, modelDirectory, smallRun, start } from '../support/rl.js'

const lossFile = (factor = 1) => `import { defineLoss } from 'whetstone/maths'
import { z } from 'zod'

export default defineLoss({
  kind: 'policy',
  name: 'soft',
  description: 'ratios without clipping',
  options: z.object({ scale: z.number().positive().default(1).describe('weight of the loss') }),
  loss: ({ length, ratios, advantages, coefficients, gradient }, { scale }) => {
    let value = 0
    for (let t = 0; t < length; t++) {
      const loss = -scale * coefficients[t]! * ratios[t]! * advantages[t]!
      gradient[t] = ${factor} * loss
      value += loss
    }
    return value
  },
})
`
const estimatorFile = `import { defineEstimator } from 'whetstone'
import { z } from 'zod'
import { middle } from './middle.ts'

export default defineEstimator({
  name: 'median',
  description: 'each sample against the median of its prompt',
  options: z.object({ factor: z.number().default(1) }),
  compares: 'samples of a prompt',
  shape: (rewards, { factor }) => rewards.map(reward => factor * (reward - middle(rewards))),
})
`
const generatorFile = `import { LocalEngine } from 'whetstone/rollout'
import { defineGenerator } from 'whetstone/train'
import { z } from 'zod'

export default defineGenerator({
  name: 'few',
  description: 'the engine of this process, with few samples at a time',
  options: z.object({ samples: z.int().min(1).default(2) }),
  open: ({ actor, tokenizer, options }) => new LocalEngine(actor, { tokenizer, maxSequences: options.samples }),
})
`
const presetFile = `import { defineAlgorithm } from 'whetstone/train'

export default defineAlgorithm({
  name: 'mine',
  description: 'my loss and my estimator',
  set: { loss: './soft.ts', lossOptions: { scale: 2 }, advantageEstimator: './median.ts', nSamplesPerPrompt: 4 },
})
`

describe('a run with files of a user', async () => {
  const folder = join(written('x', ''), '..')
  const at = (name: string): string => join(folder, name)
  const base = await smallRun({ seed: 1, prompts: 6 })
  const { nSamplesPerPrompt: _, ...rest } = base
  const mine = { ...rest, algorithm: at('mine.ts'), generator: { type: at('few.ts'), options: { samples: 3 } } }
  const output = fresh('own')
  beforeAll(async () => {
    writeFileSync(at('soft.ts'), lossFile())
    writeFileSync(at('median.ts'), estimatorFile)
    writeFileSync(
      at('middle.ts'),
      'export const middle = (rewards: Float64Array): number => rewards.toSorted()[rewards.length >> 1]!\n',
    )
    writeFileSync(at('few.ts'), generatorFile)
    writeFileSync(at('mine.ts'), presetFile)
    await start({ ...mine, output, iterations: 2 })
  })

  test('is recorded with its files, and replays', async () => {
    const { config, inputs } = JSON.parse(readFileSync(join(output, 'config.json'), 'utf8'))
    expect(config).toMatchObject({
      algorithm: at('mine.ts'),
      loss: at('soft.ts'),
      lossOptions: { scale: 2 },
      advantageEstimator: at('median.ts'),
      generator: { type: at('few.ts'), options: { samples: 3 } },
    })
    const files = (option: string) => Object.keys(inputs[option])
    expect([files('loss'), files('advantageEstimator')]).toEqual([['soft.ts'], ['median.ts', 'middle.ts']])
    expect([files('algorithm'), files('generator.type')]).toEqual([['mine.ts'], ['few.ts']])
    expect(await replayRl(output)).toMatchObject({ iterations: 2, mismatches: [], notCompared: [] })
  })

  test('gives the weights of the same definitions in code', async () => {
    const code = fresh('code')
    const [loss, advantageEstimator] = await Promise.all([at('soft.ts'), at('median.ts')].map(loadDefinition))
    const inCode = [loss!, advantageEstimator!].map(one => Object.assign(one, { file: undefined }))
    const given = { loss: inCode[0], lossOptions: { scale: 2 }, advantageEstimator: inCode[1], useKlLoss: false }
    await start({ ...base, ...given, algorithm: 'rloo', output: code, iterations: 2 })
    expect(finalWeights(code).equals(finalWeights(output))).toBe(true)
    const { config } = JSON.parse(readFileSync(join(code, 'config.json'), 'utf8'))
    expect(config.loss).toMatchObject({ name: 'soft', source: expect.stringContaining('-scale * coefficients') })
    await expect(replay(code)).rejects.toThrow(/advantageEstimator: median was given in code/)
    expect(await replay(code, { definitions: inCode })).toMatchObject({ equal: true, differences: [], notCompared: [] })
  })

  test('is resumed, and not with files that changed', async () => {
    const whole = fresh('whole')
    await start({ ...mine, output: whole, iterations: 3 })
    const stopped = fresh('stopped')
    await start({ ...mine, output: stopped, iterations: 3 }, { stopAt: 'saving' })
    writeFileSync(at('soft.ts'), `${lossFile()}// changed\n`)
    await expect(start({ ...mine, output: stopped, iterations: 3 }, { resume: true })).rejects.toThrow(
      /loss soft\.ts: was ".*", is now "/,
    )
    await expect(replayRl(stopped)).rejects.toThrow(/loss: .*soft\.ts has changed since the run started/)
    writeFileSync(at('soft.ts'), lossFile())
    await start({ ...mine, output: stopped, iterations: 3 }, { resume: true })
    expect(finalWeights(stopped).equals(finalWeights(whole))).toBe(true)
    expect(await replayRl(stopped)).toMatchObject({ iterations: 3, mismatches: [], notCompared: [] })
  })

  test('a replay says which iterations another version of a file made', async () => {
    const changed = fresh('changed')
    await start({ ...mine, output: changed, iterations: 3 }, { stopAt: 'saving' })
    writeFileSync(at('median.ts'), estimatorFile.replace('factor * (', '2 * factor * ('))
    await start({ ...mine, output: changed, iterations: 3 }, { resume: true, allowChange: ['advantageEstimator'] })
    const replayed = await replayRl(changed)
    expect(replayed).toMatchObject({ iterations: 3, mismatches: [] })
    const said = /^iterations? 0( to \d)?: advantages not compared, made with another version of .*median\.ts$/
    expect(replayed.notCompared).toEqual([expect.stringMatching(said)])
    // With the first version, its iterations are compared, and the others are not.
    writeFileSync(at('median.ts'), estimatorFile)
    expect((await replayRl(changed)).notCompared).toEqual([expect.stringMatching(/2: advantages not compared/)])
    writeFileSync(at('median.ts'), `${estimatorFile}// a third version\n`)
    expect((await replayRl(changed)).notCompared).toEqual([expect.stringMatching(/^iterations 0 to 2: advantages/)])
    writeFileSync(at('median.ts'), estimatorFile)
  })

  test.each<[string, Record<string, unknown>, RegExp]>([
    [
      'a wrong gradient',
      { loss: 'wrong.ts' },
      /loss: the policy loss "soft" of .*wrong\.ts: the gradient of logprobs at token/,
    ],
    [
      'another kind',
      { loss: 'median.ts' },
      /test: loss: expected a policy loss, got the estimator "median" of .*median\.ts/,
    ],
    ['a reward', { loss: 'reward.ts' }, /loss: .*reward\.ts: expected a default export of defineLoss.*, got a reward/],
    ['no file', { advantageEstimator: 'none.ts' }, /advantageEstimator: .*none\.ts: there is no such file/],
    ['no module', { loss: 'broken.ts' }, /loss: .*broken\.ts: the module cannot be loaded: /],
    [
      'an option it has not',
      { loss: 'soft.ts', lossOptions: { scales: 1 } },
      /soft: there is no option "scales"; did you mean scale\?/,
    ],
    [
      'an option of another form',
      { advantageEstimator: 'median.ts', estimatorOptions: { factor: 'x' } },
      /estimatorOptions: median: factor/,
    ],
    ['a wrong name', { loss: 'pppo' }, /loss: expected one of ppo, .*got "pppo"; did you mean ppo\?/],
    ['a name of others', { advantageEstimator: 'dapo' }, /there is no "dapo"; DAPO is the estimator group_norm/],
    [
      'options of a generator',
      { generator: { type: 'few.ts', options: { samples: 0 } } },
      /generator\.options: few: samples/,
    ],
    ['options of servers', { generator: { type: 'few.ts', urls: ['http://a'] } }, /generator\.urls: only for servers/],
    [
      'a generator that is none',
      { generator: { type: 'empty.ts' } },
      /generator\.type: the generator "empty" of .*: open must return a Generator, and generate, abort/,
    ],
  ])('refuses %s', async (_, options, message) => {
    writeFileSync(at('wrong.ts'), lossFile(0.5))
    writeFileSync(at('broken.ts'), 'export default (')
    writeFileSync(
      at('reward.ts'),
      "import { defineReward } from 'whetstone/reward'\nimport { z } from 'zod'\nexport default defineReward(z.object({}), () => 1)\n",
    )
    writeFileSync(
      at('empty.ts'),
      "import { defineGenerator } from 'whetstone/train'\nimport { z } from 'zod'\nexport default defineGenerator({ name: 'empty', description: 'none', options: z.object({}), open: () => ({}) as never })\n",
    )
    const placed = JSON.parse(JSON.stringify(options), (_key, value: unknown) =>
      typeof value === 'string' && value.endsWith('.ts') ? at(value) : value,
    ) as object
    await expect(start({ ...base, ...placed, output: fresh('refused') })).rejects.toThrow(message)
  })

  test('a path is relative to its config', async () => {
    const layer = { origin: 'rl.yaml', values: { loss: './soft.ts' }, directory: folder }
    const [loaded] = await loadDefinitions([layer])
    expect(loaded!.values.loss).toMatchObject({ defines: 'loss', name: 'soft', file: at('soft.ts') })
  })
})

describe('preferences and reward models with a loss of a user', async () => {
  const model = await modelDirectory(2)
  const data = written(
    'pairs.jsonl',
    Array.from(
      { length: 4 },
      (_, i) => `${JSON.stringify({ prompt: `Hello ${i}`, chosen: 'there', rejected: 'no' })}\n`,
    ).join(''),
  )
  const file = (kind: string, fields: string) =>
    written(
      `${kind}.ts`,
      `import { defineLoss } from 'whetstone/maths'
import { z } from 'zod'
export default defineLoss({
  kind: '${kind}',
  name: 'hinge',
  description: 'a hinge between the two',
  options: z.object({ gap: z.number().default(1) }),
  loss: ({ ${fields} }, { gap }) => {
    const open = chosen - rejected < gap
    return { value: open ? gap - chosen + rejected : 0, chosen: open ? -1 : 0, rejected: open ? 1 : 0 }
  },
})
`,
    )
  const preference = file('preference', 'chosen, rejected')
  const rewardModel = file('reward-model', 'chosen, rejected')
  const train = async (name: 'preference' | 'reward', loss: string, more: object = {}) => {
    const output = fresh(name)
    const values = { model, data, output, loss, device: 'cpu', chatTemplate: 'none', batchSize: 2, ...more }
    const training: Training = trainings[name]
    const resolved = training.resolve(await loadDefinitions([{ origin: 'test', values }]))
    const { signal } = new AbortController()
    await training.run({ ...resolved, resume: false, allowChange: [], report: silentReport, signal })
    return output
  }

  test.each([
    [
      'preference',
      preference,
      rewardModel,
      /expected a preference or labelled loss, got the reward-model loss "hinge"/,
    ],
    ['reward', rewardModel, preference, /expected a reward-model loss, got the preference loss "hinge"/],
  ] as const)('%s', async (name, loss, other, message) => {
    const output = await train(name, loss, { lossOptions: { gap: 2 } })
    const { config, inputs } = JSON.parse(readFileSync(join(output, 'config.json'), 'utf8'))
    expect(config).toMatchObject({ loss, lossOptions: { gap: 2 } })
    expect(Object.keys(inputs.loss)).toHaveLength(1)
    expect(await replaySupervised(output)).toMatchObject({ batches: 2, mismatches: [], notCompared: [] })
    await expect(train(name, other)).rejects.toThrow(message)
    await expect(train(name, loss, { lossOptions: { gaps: 2 } })).rejects.toThrow(
      /lossOptions: hinge: there is no option "gaps"; did you mean gap/,
    )
  })
})
