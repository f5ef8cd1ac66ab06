/** Environments together with other options of a run: each pair trains, is replayed without a session, and its samples have every number. */
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { replayRl } from '../../src/train/index.js'
import { fresh, temporaryDirectory } from '../support/files.js'
import { letterReward, metricLines, modelDirectory, promptFile, quickly, start } from '../support/rl.js'

const directory = temporaryDirectory()
const environment = join(directory, 'environment.mjs')
const written = (version: string): string => `export default {
  name: 'two turns',
  version: '${version}',
  open: async ({ messages }, { sample }) => {
    let said = 0
    return {
      start: async () => messages,
      stateKey: () => String(said > 0),
      step: async ({ turn, text }) => {
        said++
        if (turn === 1) return { kind: 'done', reward: (text.length + sample) % 3 }
        return { kind: 'go-on', messages: [{ role: 'user', content: 'More.' }], reward: sample / 4 }
      },
    }
  },
}
`
writeFileSync(environment, written('1'))
const model = await modelDirectory(4, { context: 128, layers: 1 })
const base = quickly({
  model,
  data: promptFile(8),
  environment,
  chatTemplate: 'auto',
  episode: { turnTokens: 3 },
  maxNewTokens: 8,
  iterations: 2,
})

const lora = { rank: 2 }
const validation = { validationShare: 0.25, evaluation: { every: 1, maxPrompts: 2 } }
const cases: readonly (readonly [string, Readonly<Record<string, unknown>>])[] = [
  ['LoRA, KL to the base, validation', { algorithm: 'grpo', lora, reference: 'adapter-off', ...validation }],
  ['PPO with a critic, packing, trajectories', { algorithm: 'ppo', packingSamples: true, saveTrajectories: true }],
  [
    'dynamic sampling, rewards beside the environment',
    { algorithm: 'dapo', rewards: letterReward, overlongBufferLen: 2 },
  ],
  ['RLOO, the engine sleeps, packing, validation', { algorithm: 'rloo', enableEngineSleep: true, ...validation }],
  ['bfloat16, LoRA, discounted turns', { algorithm: 'reinforce++', dtype: 'bfloat16', lora, turnGamma: 0.5 }],
  ['groups of states, KL in the loss, trajectories', { algorithm: 'grpo', stepWeight: 1, saveTrajectories: true }],
  ['one ratio per sequence, several updates', { algorithm: 'gspo', trainBatchSize: 4, rewards: letterReward }],
  ['PPO, the engine sleeps, validation', { algorithm: 'ppo', enableEngineSleep: true, ...validation }],
]

test.each(cases)(
  '%s',
  async (_, options) => {
    const output = fresh('run')
    const { outcome } = await start({ ...base, ...options, output })
    expect(outcome).toBe('finished')
    const lines = metricLines(output)
    expect(lines.findLast(({ values }) => 'episode/turns' in values)!.values['episode/turns']).toBe(2)
    for (const { values } of lines)
      for (const [name, value] of Object.entries(values)) expect(Number.isFinite(value), name).toBe(true)
    if ('validationShare' in options) expect(lines.some(({ values }) => 'validation/reward' in values)).toBe(true)
    if ('rewards' in options) expect(lines[0]!.values).toHaveProperty('reward/component/environment')
    expect(await replayRl(output)).toMatchObject({ iterations: 2, mismatches: [], notCompared: [] })
    if (!options.saveTrajectories) return
    const [first] = readFileSync(join(output, 'trajectories/000000.jsonl'), 'utf8').split('\n')
    const { response_ids, advantages } = JSON.parse(first!)
    expect(response_ids.length).toBeGreaterThan(advantages.length)
  },
  60_000,
)

test('a resumed run does not go on with another environment unless that is allowed', async () => {
  const output = fresh('run')
  const options = { ...base, algorithm: 'grpo', output }
  await start(options, { stopAt: 'updating' })
  writeFileSync(environment, written('2'))
  try {
    await expect(start(options, { resume: true })).rejects.toThrow(/environment environment\.mjs: was/)
    expect((await start(options, { resume: true, allowChange: ['environment'] })).outcome).toBe('finished')
  } finally {
    writeFileSync(environment, written('1'))
  }
}, 60_000)
