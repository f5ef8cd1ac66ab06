import { afterAll } from 'vitest'
import { LocalEngine } from '../../src/rollout/index.js'
import { ScriptedGenerator } from '../support/doubles/scripted-generator.js'
import { loadModel } from '../support/generation.js'
import { generatorContract } from './generator-contract.js'

const model = await loadModel()
afterAll(() => model.dispose())

generatorContract('LocalEngine', async () => new LocalEngine(model, { eosIds: [2] }))
generatorContract('LocalEngine with few places', async () => new LocalEngine(model, { eosIds: [2], maxSequences: 2 }))

function* counting(promptIds: Int32Array, sample: number): Iterable<number> & Iterator<number> {
  for (let i = 0; ; i++) yield (promptIds.at(-1)! + sample + i) % 320
}
generatorContract('ScriptedGenerator', async () => new ScriptedGenerator(counting))
