/** best_model is never worse than the start, in every training: the data make the model worse, or the reward falls with time. */
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { Run } from '../../src/run/index.js'
import { type Training, type TrainingName, trainings } from '../../src/train/index.js'
import { answerPairs } from '../support/answers.js'
import { cli } from '../support/cli.js'
import { fresh, jsonl, written } from '../support/files.js'
import { promptFile, quickly } from '../support/rl.js'
import { jobOf, stoppingReport } from '../support/supervised.js'
import { modelDirectory } from '../support/tiny-model.js'

interface Case {
  readonly verb: string
  readonly training: TrainingName
  /** What its progress line begins with. */
  readonly label: string
  readonly metric: string
  readonly values: Readonly<Record<string, unknown>>
}

const pairs = answerPairs(24, 1)
/** The validation data says the opposite of the training data. */
const opposite = {
  data: jsonl(pairs.map(({ prompt, chosen, rejected }) => ({ prompt, chosen: rejected, rejected: chosen }))),
  validationData: jsonl(pairs),
  batchSize: 8,
  maxSteps: 4,
  evalSteps: 2,
  device: 'cpu',
  optimizer: { lr: 0.03 },
}
/** Whatever a policy has learnt, the later evaluation has the lower reward. */
const falling = written(
  'falling.mjs',
  `export default ({ response }) => new Set(response).size - (Date.now() - ${Date.now()}) / 10\n`,
)
const worse = quickly({
  data: promptFile(4),
  validationData: promptFile(4),
  rewards: falling,
  iterations: 4,
  evaluation: { every: 2, temperature: 1, nSamplesPerPrompt: 4 },
  optimizer: { lr: 3, maxGradNorm: null },
})

const cases: readonly Case[] = [
  { verb: 'dpo', training: 'preference', label: 'preference', metric: 'loss/validation', values: opposite },
  { verb: 'reward train', training: 'reward', label: 'reward', metric: 'validation/accuracy', values: opposite },
  { verb: 'grpo', training: 'rl', label: 'grpo', metric: 'validation/reward', values: worse },
  {
    ...{ verb: 'ppo', training: 'rl', label: 'ppo', metric: 'validation/reward' },
    values: { ...worse, klController: { kind: 'fixed', coef: 0 } },
  },
]

let model: string
beforeAll(async () => {
  model = await modelDirectory(1)
})

const weightsIn = (directory: string): Buffer =>
  readFileSync(join(directory, directory.endsWith('adapter') ? 'adapter_model.safetensors' : 'model.safetensors'))

/** Runs a config up to its second step, and resumes it by the command. */
async function interrupted({ verb, training: name, label }: Case, values: Readonly<Record<string, unknown>>) {
  const output = fresh('run')
  const config = written('config.json', JSON.stringify({ ...values, model, output }))
  const given = await cli([...verb.split(' '), '--config', config, '--dry-run'])
  expect(given.output).toContain('All checks passed.')
  const training: Training = trainings[name]
  const kin = training.kin[verb] ?? {}
  const { signal, ...stop } = stopper()
  const report = stoppingReport(text => text.startsWith(`${label} 2/`) && stop.abort())
  const resolved = training.resolve([{ origin: config, values: { ...values, ...kin, model, output } }])
  expect(await training.run({ ...jobOf(resolved.config, { report, signal }), ...resolved })).toMatchObject({
    outcome: 'stopped',
  })
  return { output, resumed: await cli([...verb.split(' '), '--config', config, '--resume']) }
}

function stopper(): { signal: AbortSignal; abort(): void } {
  const controller = new AbortController()
  return { signal: controller.signal, abort: () => controller.abort() }
}

describe.each(cases)('$verb', one => {
  test.each([
    { kept: 'best_model', final: 'final_model', options: {} },
    { kept: 'best_adapter', final: 'final_adapter', options: { lora: { rank: 2, alpha: 4 }, keep: 'adapters' } },
  ])('that only gets worse keeps the start as $kept', async ({ kept, final, options }) => {
    const { output, resumed } = await interrupted(one, { ...one.values, ...options })
    expect(resumed.code).toBe(0)
    const { events } = await Run.read(output)
    expect(events.find(({ kind }) => kind === 'best')).toMatchObject({ step: 0, metric: one.metric })
    expect(resumed.output).toContain('No checkpoint is better than the start')
    expect(resumed.output).toContain(`${kept} is the model before training`)
    // The commands at the end name it.
    const best = join(output, kept)
    expect(resumed.output).toContain(`${best}: the best model, the model before training`)
    expect(resumed.output).toMatch(new RegExp(`whetstone \\S+ --\\S+ ${best}`))
    expect(weightsIn(best).equals(weightsIn(join(output, final)))).toBe(false)
    if (kept === 'best_model' && one.training !== 'reward') expect(weightsIn(best).equals(weightsIn(model))).toBe(true)
    expect(existsSync(join(output, 'best_model'))).toBe(kept === 'best_model')
  })

  test('without an evaluation has the last model as the best', async () => {
    const { validationData: _, ...values } = one.values
    const { output, resumed } = await interrupted(one, values)
    expect(resumed.output).not.toContain('better than the start')
    expect(weightsIn(join(output, 'best_model')).equals(weightsIn(join(output, 'final_model')))).toBe(true)
    expect((await Run.read(output)).events.filter(({ kind }) => kind === 'best')).toEqual([])
  })
})
