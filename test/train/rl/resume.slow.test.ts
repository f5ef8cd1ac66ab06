/** A run that is stopped again and again is the run that was not, for every kind of state that a run has. */
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { replayRl } from '../../../src/train/rl/index.js'
import { fresh, written } from '../../support/files.js'
import { finalWeights, metricLines, smallRun, start } from '../../support/rl.js'

const base = await smallRun({ seed: 1, prompts: 6 })
const conversations = written(
  'mixed-in.jsonl',
  ['a', 'b', 'c'].map(text => `${JSON.stringify({ prompt: `${text}?`, completion: text })}\n`).join(''),
)

const algorithms = [
  {
    algorithm: 'ppo',
    nSamplesPerPrompt: 2,
    trainBatchSize: 2,
    updateEpochs: 2,
    critic: { warmupIterations: 1 },
    targetKl: 0.02,
    exportEvery: 2,
  },
  { algorithm: 'grpo', trainBatchSize: 3, emaDecay: 0.9, ptx: { data: conversations, batchSize: 2 } },
  { algorithm: 'dapo', overlongBufferLen: 2 },
  {
    algorithm: 'rloo',
    lora: { rank: 4, dropout: 0.1 },
    klController: { kind: 'adaptive', target: 0.01 },
    validationShare: 0.4,
    evaluation: { every: 1, temperature: 0.5, nSamplesPerPrompt: 2 },
  },
  { algorithm: 'cpgd', tisCap: 2, rewardRunningNorm: true },
  { algorithm: 'gspo', highEntropyTokenRatio: 0.5, entropyCoef: 0.01 },
]

test.each(algorithms)(
  '$algorithm stopped after every optimiser step and resumed is the run that was not',
  async options => {
    const whole = fresh('run')
    await start({ ...base, ...options, output: whole })
    const parts = fresh('run')
    let { outcome } = await start({ ...base, ...options, output: parts }, { stopAt: 'generating' })
    let stops = 1
    for (; outcome === 'stopped' && stops < 40; stops++)
      ({ outcome } = await start({ ...base, ...options, output: parts }, { resume: true, stopAt: 'updating' }))
    expect(stops).toBeGreaterThan(2)
    expect(finalWeights(parts).equals(finalWeights(whole))).toBe(true)
    if ('emaDecay' in options)
      expect(finalWeights(parts, 'ema_model').equals(finalWeights(whole, 'ema_model'))).toBe(true)
    const strip = (line: { step: number; values: Record<string, number> }) => ({
      step: line.step,
      values: Object.fromEntries(
        Object.entries(line.values).filter(
          ([name]) => !/^(seconds|speed|memory|samples\/reused|rollouts\/ahead)/.test(name),
        ),
      ),
    })
    expect((await metricLines(parts)).map(strip)).toEqual((await metricLines(whole)).map(strip))
    for (const run of [whole, parts]) expect(await replayRl(run)).toMatchObject({ mismatches: [], notCompared: [] })
    // The engine samples from merged weights, the trainer scores with the adapter beside them.
    if ('lora' in options)
      for (const { values } of await metricLines(whole)) expect(values['gap/mean'] ?? 0).toBeLessThan(1e-5)
    if ('exportEvery' in options)
      for (const run of [whole, parts])
        expect(existsSync(join(run, 'iteration_000002', 'value_model', 'config.json'))).toBe(true)
  },
)
