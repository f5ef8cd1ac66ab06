import { afterAll, beforeAll } from 'vitest'
import { connectVllm } from '../../../src/rollout/index.js'
import { makeWorld, type World } from '../../support/serve.js'
import { generatorContract } from '../generator-contract.js'

let world: World
beforeAll(async () => {
  world = await makeWorld()
})
afterAll(() => world.close())

generatorContract('connectVllm to our own server', async () => {
  const { port } = await world.serve()
  return connectVllm({ urls: [`http://127.0.0.1:${port}`], vocabSize: world.opened.engine.vocabSize })
})
