/** Every algorithm on prompts with images, and what changes no number. */
import { describe, expect, test } from 'vitest'
import { replayRl } from '../../../src/train/index.js'
import { finalWeights, metricLines, start } from '../../support/rl.js'
import { visionDirectory } from '../../support/vision-directory.js'
import { model, run } from './rl-world.js'

test.each([
  ['ppo', { critic: { optimizer: { lr: 1e-3 } } }],
  ['rloo', {}],
  ['reinforce++', {}],
] as const)('%s trains on mixed batches, and replays', async (algorithm, more) => {
  const { output, outcome } = await run({ algorithm, ...more })
  expect(outcome).toBe('finished')
  const metrics = metricLines(output)
  expect(metrics.length).toBe(3)
  // The engine and the trainer read the same pixels at the same positions.
  for (const { values } of metrics) expect(values['gap/max'] ?? 0).toBeLessThan(1e-4)
  expect(finalWeights(output).equals(finalWeights(model, '.'))).toBe(false)
  expect(await replayRl(output)).toMatchObject({ iterations: 3, mismatches: [], notCompared: [] })
})

test.each(['qwen2_vl', 'qwen3_vl'] as const)('%s too, with a critic', async family => {
  const { directory } = visionDirectory(family)
  const { output } = await run({ model: directory, algorithm: 'ppo', critic: {}, iterations: 2, maxNewTokens: 6 })
  for (const { values } of metricLines(output)) {
    expect(values['gap/max']).toBeLessThan(1e-4)
    expect(values['drops/generation: media'] ?? 0).toBe(0)
  }
  expect(finalWeights(output).equals(finalWeights(directory, '.'))).toBe(false)
  expect(await replayRl(output)).toMatchObject({ iterations: 2, mismatches: [], notCompared: [] })
})

describe('equivalences', () => {
  test('packed and padded batches end with the same weights, up to rounding', async () => {
    const [packed, padded] = await Promise.all(
      [true, false].map(packingSamples => run({ packingSamples, iterations: 1 })),
    )
    const numbers = ({ output }: { output: string }) => metricLines(output).at(-1)!.values
    for (const name of ['reward/mean', 'kl/mean', 'loss/policy', 'grad_norm'])
      expect(numbers(packed!)[name] ?? 0, name).toBeCloseTo(numbers(padded!)[name] ?? 0, 4)
  })

  test.each([
    ['a frozen tower', { freezeVision: 'all' }],
    ['an adapter', { lora: { rank: 2, alpha: 4 } }],
  ] as const)('resumed = uninterrupted to the bit: %s', async (_, more) => {
    const whole = await run(more)
    const broken = await run(more, { stopAt: 'updating' })
    expect(broken.outcome).toBe('stopped')
    await start(broken.options, { resume: true })
    expect(finalWeights(broken.output).equals(finalWeights(whole.output))).toBe(true)
    expect(await replayRl(broken.output)).toMatchObject({ mismatches: [], notCompared: [] })
  })
})
