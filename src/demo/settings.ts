/** The demo's numbers: in full, and small enough for a test. */
import type { ModelShape } from '../model/index.js'

export interface DemoSettings {
  /** Digits of a prompt. */
  readonly digits: number
  readonly heldOutPrompts: number
  readonly shape: Omit<ModelShape, 'vocabSize'>
  readonly sftSteps: number
  readonly sftLr: number
  readonly rewardSteps: number
  /** Iterations of PPO and of GRPO. */
  readonly iterations: number
  /** Iterations between measurements on held-out prompts. */
  readonly measureEvery: number
  /** Samples of each held-out prompt when a model is measured. */
  readonly samples: number
}

const context = 64

export const fullSettings: DemoSettings = {
  digits: 4,
  heldOutPrompts: 100,
  shape: { hidden: 64, intermediate: 192, layers: 2, heads: 4, kvHeads: 4, headDim: 16, context, tied: true },
  sftSteps: 400,
  sftLr: 3e-3,
  rewardSteps: 400,
  iterations: 40,
  measureEvery: 10,
  samples: 8,
}

/** The same with less of everything: all stages in seconds. */
export const quickSettings: DemoSettings = {
  digits: 3,
  heldOutPrompts: 40,
  shape: { hidden: 64, intermediate: 128, layers: 1, heads: 4, kvHeads: 4, headDim: 16, context, tied: true },
  sftSteps: 200,
  sftLr: 6e-3,
  rewardSteps: 160,
  iterations: 12,
  measureEvery: 6,
  samples: 8,
}
