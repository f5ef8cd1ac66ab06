// A reinforcement learning run of a few seconds, begun or gone on with, as a process that can be killed.
//   node small-rl.mjs INDEX OPTIONS
// INDEX is the compiled room `train`; OPTIONS the config as JSON. Optimiser steps are points at which the process may die.
import { fileURLToPath, pathToFileURL } from 'node:url'

const [, , index, options] = process.argv
const { resolveRlConfig, runRl } = await import(pathToFileURL(index).href)
const room = name => import(new URL(`../${name}/index.js`, pathToFileURL(index)).href)
const { LocalModel } = await room('model')
const { threads } = await room('tensor')

threads(1)
const { step } = LocalModel.prototype
LocalModel.prototype.step = function (...args) {
  globalThis.crashPoint?.('step')
  return step.apply(this, args)
}

const silent = {
  line() {},
  transfer: () => ({ at() {}, end() {} }),
  live: () => ({ show() {}, doing() {}, end() {} }),
}
const { config, origins } = resolveRlConfig([{ origin: fileURLToPath(import.meta.url), values: JSON.parse(options) }])
const { outcome } = await runRl({
  config,
  origins,
  resume: true,
  allowChange: [],
  report: silent,
  signal: new AbortController().signal,
})
console.log(outcome)
