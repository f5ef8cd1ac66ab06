/** The demo: a small model trained from nothing to SFT, a reward model, PPO and GRPO, and measured after each. */
export { pairedRise, type Rise } from './paired-rise.js'
export { drawCurves } from './picture.js'
export { dataFiles, dataPath } from './prepare.js'
export {
  type DemoOptions,
  type DemoResult,
  type FinishedStage,
  type Measurement,
  runDemo,
  type Speaker,
  speakers,
} from './run-demo.js'
export { type DemoSettings, fullSettings, quickSettings } from './settings.js'
export { examplesTable, nextSteps, resultTable, secondsText, seedsTable, stageText } from './tables.js'
