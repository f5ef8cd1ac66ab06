import { afterAll, beforeAll } from 'vitest'
import { DistributedModel, type World } from '../../src/distributed/index.js'
import { tokenModelContract } from '../model/token-model-contract.js'
import { tinyDirectory } from '../support/distributed.js'
import { startRanks } from '../support/ranks.js'

let world: World
let directory: string
beforeAll(async () => {
  world = (await startRanks(2)).world
  directory = await tinyDirectory('language')
})
afterAll(() => world.close())

tokenModelContract('a language model on two ranks, its optimiser divided', () =>
  DistributedModel.load(world, directory, { role: 'language', optimizer: { shard: true } }),
)
