// A pipeline of a few steps, begun or gone on with, as a process that can be killed.   node small-pipeline.mjs INDEX OPTIONS
// INDEX is the compiled room `pipeline`; OPTIONS the config as JSON. Optimiser steps are points at which the process may die.
import { pathToFileURL } from 'node:url'

const [, , index, options] = process.argv
const { createRlhfPipeline } = await import(pathToFileURL(index).href)
const room = name => import(new URL(`../${name}/index.js`, pathToFileURL(index)).href)
const { LocalModel } = await room('model')
const { threads } = await room('tensor')

threads(1)
const { step } = LocalModel.prototype
LocalModel.prototype.step = function (...args) {
  globalThis.crashPoint?.('step')
  return step.apply(this, args)
}

const pipeline = await createRlhfPipeline(JSON.parse(options))
console.log((await pipeline.runFullPipeline({ resume: true })).outcome)
