import { expect, test } from 'vitest'
import { type DemoResult, type Measurement, seedsTable } from '../../src/demo/index.js'

test('over seeds there are means with their spread, and the rise above SFT is paired by seed', () => {
  const measured = (accuracy: number): Measurement => ({
    accuracies: [accuracy],
    accuracy,
    greedyAccuracy: accuracy,
    reward: 10 * accuracy,
  })
  const result = (seed: number, sft: number, grpo: number): DemoResult => ({
    directory: `seed-${seed}`,
    seed,
    measurements: { sft: measured(sft), grpo: measured(grpo) },
    pairAccuracy: 1,
    seconds: {},
    curves: [],
    examples: [],
  })
  const rows = seedsTable([result(0, 0.4, 0.8), result(1, 0.5, 0.9), result(2, 0.6, 1)])
  expect(rows.split('\n').map(row => row.trim().split(/ {2,}/))).toEqual([
    ['accuracy', 'likeliest answer', 'reward', 'accuracy above SFT, 95 % interval'],
    ['SFT', '50.0 % (40.0 % to 60.0 %)', '50.0 % (40.0 % to 60.0 %)', '5.00 (4.00 to 6.00)'],
    [
      'GRPO',
      '90.0 % (80.0 % to 100.0 %)',
      '90.0 % (80.0 % to 100.0 %)',
      '9.00 (8.00 to 10.00)',
      '+40.0 points (+40.0 to +40.0)',
    ],
  ])
})
