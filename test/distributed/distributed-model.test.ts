import { afterAll, beforeAll } from 'vitest'
import { DistributedModel, type World } from '../../src/distributed/index.js'
import { type AdapterOptions, LocalModel, type Role } from '../../src/model/index.js'
import { tokenModelContract } from '../model/token-model-contract.js'
import { temporary } from '../support/models.js'
import { startRanks } from '../support/ranks.js'
import { tinyConfig } from '../support/tiny-model.js'

const adapter: AdapterOptions & { seed: number } = {
  ...{ rank: 4, alpha: 8, dropout: 0, seed: 3 },
  targets: ['q_proj', 'v_proj', 'o_proj', 'gate_proj'],
}
let world: World
const directories = new Map<Role, string>()

beforeAll(async () => {
  world = (await startRanks(2)).world
  for (const role of ['language', 'value', 'reward'] as const) {
    const model = await LocalModel.create(tinyConfig('qwen2'), { seed: 1, role })
    const directory = temporary(`tiny-${role}`)
    await model.export(directory, { what: 'model' })
    model.dispose()
    directories.set(role, directory)
  }
})
afterAll(() => world.close())

const of =
  (role: Role, options = {}) =>
  () =>
    DistributedModel.load(world, directories.get(role)!, { role, ...options })

tokenModelContract('a language model on two ranks', of('language'))
tokenModelContract('a divided optimiser on two ranks', of('language', { optimizer: { shard: true } }))
tokenModelContract(
  'a critic with an adapter on two ranks, divided',
  of('value', { adapter, optimizer: { shard: true } }),
)
tokenModelContract('a reward model on two ranks in small batches', of('reward', { tokenBudget: 8 }))
