/** The demo: a small model trained from nothing to SFT, a reward model, PPO and GRPO, and measured after each. */
export { pairedRise } from './paired-rise.js'
export { drawCurves } from './picture.js'
export { dataFiles, dataPath } from './prepare.js'
export { type DemoResult, type Measurement, runDemo, type Speaker } from './run-demo.js'
export { fullSettings, quickSettings } from './settings.js'
export * from './tables.js'
