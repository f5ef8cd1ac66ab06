/** Each diagnosis in a run that has what it is about, and none in runs that learn. */
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { rl as rlFunction } from '../../src/index.js'
import { LocalModel } from '../../src/model/index.js'
import { LocalEngine } from '../../src/rollout/index.js'
import { diagnoses } from '../../src/run/index.js'
import { preferenceSchema } from '../../src/train/preference/config.js'
import { runPreference } from '../../src/train/preference/job.js'
import { rewardModelSchema } from '../../src/train/reward-model/config.js'
import { runRewardModel } from '../../src/train/reward-model/job.js'
import { sftSchema } from '../../src/train/sft/config.js'
import { runSft } from '../../src/train/sft/job.js'
import { answerPairs } from '../support/answers.js'
import { saidIn } from '../support/diagnosed.js'
import { fresh, jsonl, written } from '../support/files.js'
import { metricLines, modelDirectory, promptFile, quickly, start } from '../support/rl.js'
import { jobOf } from '../support/supervised.js'
import { tokenizer } from '../support/tokenizers.js'

const model = await modelDirectory(1, { layers: 1 })
const data = promptFile(16)
const letters = 'abcdefgh'

/** A reward that counts its calls in `n`. */
const reward = (body: string): string => written('reward.mjs', `let n = 0\nexport default sample => {\n${body}\n}\n`)
const vowels = `[...sample.response].filter(letter => 'aeiou'.includes(letter)).length / Math.max(8, sample.response.length)`
/** Between 0 and 1, by the sample alone. */
const noise = `(sample.sample * 7 % 4) / 4`

async function rl(options: Readonly<Record<string, unknown>>): Promise<string> {
  const output = fresh('run')
  const given = { model, data, output, algorithm: 'grpo', saveSteps: 1000, maxNewTokens: 4, ...options }
  expect((await start(quickly(given))).outcome).toBe('finished')
  return output
}

const sftRows = (count: number, completion: (i: number) => string) =>
  jsonl(Array.from({ length: count }, (_, i) => ({ prompt: `Question ${i}:`, completion: completion(i) })))

async function sft(options: Readonly<Record<string, unknown>>): Promise<string> {
  const output = fresh('run')
  const common = { model, output, chatTemplate: 'none', device: 'cpu', batchSize: 4, saveSteps: 1000 }
  await runSft(jobOf(sftSchema.parse({ ...common, ...options })))
  return output
}

/** A model that answers with one of the letters, and ends its answers. */
let answering: Promise<string> | undefined
const trained = (): Promise<string> => {
  answering ??= sft({
    data: sftRows(64, i => letters[(i * 5) % 8]!),
    validationShare: 0.1,
    epochs: 6,
    optimizer: { lr: 5e-3 },
  }).then(run => join(run, 'final_model'))
  return answering
}

/** A run for each diagnosis. */
const runs: Readonly<Record<string, () => Promise<string>>> = {
  'rewards-fail': () => rl({ rewards: reward(`if (sample.sample > 0) throw new Error('no'); return 1`) }),
  'equal-rewards': () => rl({ rewards: reward('return 0') }),
  'equal-groups': () => rl({ rewards: reward('return sample.row.nr / 10'), iterations: 5 }),
  truncated: () => rl({ rewards: reward(`return ${noise}`) }),
  // One pair again and again, with so large a beta that the first step settles it for ever.
  'no-gradient': async () => {
    const output = fresh('run')
    const pair = { prompt: 'Say it:', chosen: 'yes', rejected: 'no' }
    const config = { model, output, data: jsonl([pair]), chatTemplate: 'none', device: 'cpu', batchSize: 1, epochs: 8 }
    await runPreference(jobOf(preferenceSchema.parse({ ...config, beta: 1e6, optimizer: { lr: 1e-2 } })))
    return output
  },
  'weights-unchanged': async () =>
    sft({
      model: await trained(),
      data: sftRows(8, i => letters[i]!),
      dtype: 'bfloat16',
      epochs: 6,
      optimizer: { lr: 1e-9, masters: 'exact' },
    }),
  'reward-falls': () => rl({ rewards: reward(`n++\nreturn 1 - n / 200 + 0.1 * ${noise}`), iterations: 24 }),
  'kl-runaway': () =>
    rl({
      rewards: reward(`return ${vowels}`),
      klController: { kind: 'fixed', coef: 1e-6 },
      iterations: 24,
      optimizer: { lr: 0.03, maxGradNorm: null },
    }),
  // The model learns what it is paid for, and the pay falls at the same time.
  'entropy-collapse': async () =>
    rl({
      model: await trained(),
      rewards: reward(`n++\nreturn (sample.response === 'a' ? 1 : 0) - n / 500`),
      nSamplesPerPrompt: 8,
      rolloutBatchSize: 4,
      iterations: 32,
      optimizer: { lr: 1e-2 },
    }),
  // Short answers are paid for, whatever they say.
  'answers-shrink': async () => {
    const both = await sft({
      data: sftRows(64, i => (i % 2 === 0 ? 'a' : 'a b c d e f g h a b c d e f g h')),
      epochs: 6,
      optimizer: { lr: 5e-3 },
    })
    return rl({
      model: join(both, 'final_model'),
      rewards: reward('return 1 / (1 + sample.response.length)'),
      nSamplesPerPrompt: 8,
      rolloutBatchSize: 16,
      klController: { kind: 'fixed', coef: 0 },
      maxNewTokens: 24,
      iterations: 32,
      optimizer: { lr: 3e-3 },
    })
  },
  // Gradients more than double in each iteration, and the loss scale follows them.
  overflows: async () => {
    const output = fresh('run')
    const float32 = await LocalModel.load(model, { role: 'language', device: 'cpu' })
    // On a CPU the engine computes in float32 alone.
    const generator = new LocalEngine(float32, { tokenizer })
    let n = 0
    const { iterations, ...rest } = quickly({
      ...{ rolloutBatchSize: 16, nSamplesPerPrompt: 8, maxNewTokens: 4, saveSteps: 1000, optimizer: { lr: 1e-6 } },
    })
    await rlFunction({
      ...{ ...rest, model, data, output, generator, algorithm: 'rloo', dtype: 'float16', iterations: 10 },
      rewards: ({ sample }) => 64 * 2.9 ** Math.floor(n++ / 128) * (sample % 2),
    })
    await generator.close()
    float32.dispose()
    return output
  },
  'reward-flat': () => rl({ rewards: reward(`return ${noise}`), iterations: 52, optimizer: { lr: 1e-6 } }),
  // An engine whose log-probabilities move away from what the trainer computes.
  'gap-grows': async () => {
    const output = fresh('run')
    const own = await LocalModel.load(model, { role: 'language', device: 'cpu' })
    const engine = new LocalEngine(own, { tokenizer })
    let outcomes = 0
    const drifting = new Proxy(engine, {
      get(target, name) {
        if (name !== 'generate') {
          const value = Reflect.get(target, name)
          return typeof value === 'function' ? value.bind(target) : value
        }
        return async function* (...given: Parameters<LocalEngine['generate']>) {
          for await (const outcome of target.generate(...given)) {
            const drift = 0.005 * Math.floor(outcomes++ / 8)
            const moved = (values: Float32Array | undefined) => values?.map(value => value - drift)
            if (outcome.kind !== 'completed') yield outcome
            else {
              const { raw, processed } = outcome.logprobs
              yield {
                ...outcome,
                logprobs: { ...(raw && { raw: moved(raw)! }), ...(processed && { processed: moved(processed)! }) },
              }
            }
          }
        }
      },
    })
    const { iterations, ...rest } = quickly({ maxNewTokens: 4, saveSteps: 1000, optimizer: { lr: 1e-6 } })
    await rlFunction({
      ...{ ...rest, model, data, output, generator: drifting, algorithm: 'grpo', iterations: 16 },
      rewards: ({ sample }) => sample % 2,
    })
    await engine.close()
    own.dispose()
    return output
  },
  // The learning rate grows until the model breaks.
  'loss-rises': () =>
    sft({ data: sftRows(8, i => letters[i]!), epochs: 40, optimizer: { lr: 10, warmupRatio: 1, maxGradNorm: null } }),
  overfits: () =>
    sft({
      data: sftRows(4, i => letters[i]!.repeat(3)),
      validationData: sftRows(4, i => '0123'[i]!.repeat(3)),
      epochs: 40,
      evalSteps: 8,
      optimizer: { lr: 1e-2 },
    }),
  'pairs-not-learnt': async () => {
    const output = fresh('run')
    const pairs = answerPairs(10, 1)
    // Each pair both ways round.
    const rows = pairs.flatMap(pair => [pair, { ...pair, chosen: pair.rejected, rejected: pair.chosen }])
    const config = { model, output, data: jsonl(rows), device: 'cpu', batchSize: 4, epochs: 12 }
    await runRewardModel(jobOf(rewardModelSchema.parse({ ...config, optimizer: { lr: 1e-8 } })))
    return output
  },
}

test('every diagnosis has a run', () => {
  expect(Object.keys(runs).sort()).toEqual(diagnoses.map(({ id }) => id).sort())
})

test.each(Object.keys(runs))(
  '%s',
  async id => {
    const output = await runs[id]!()
    const { ids } = await saidIn(output)
    expect(ids).toContain(id)
    expect(new Set(ids).size).toBe(ids.length)
  },
  120_000,
)

test('runs that learn say nothing', async () => {
  const model = await trained()
  expect((await saidIn(dirname(model))).ids).toEqual([])
  const output = await rl({
    model,
    rewards: reward(`return 'aceg'.includes(sample.response) && sample.response !== '' ? 1 : 0`),
    nSamplesPerPrompt: 8,
    rolloutBatchSize: 8,
    maxNewTokens: 6,
    iterations: 25,
    optimizer: { lr: 2e-3 },
  })
  const rewards = (await metricLines(output)).map(({ values }) => values['reward/mean']!)
  expect(rewards.at(-1)).toBeGreaterThan(rewards[0]! + 0.2)
  expect((await saidIn(output)).ids).toEqual([])
}, 120_000)
